// Places panels on a page of rows. Panels are placed from left to right and wrap. A row with a title can be collapsed.
import { DashboardCursorSync, VariableHide, VariableRefresh, VariableSort } from '@grafana/schema';
import type { AnnotationQuery, Dashboard, DashboardLink, Panel, RowPanel, VariableModel } from '@grafana/schema';
import { DATASOURCE, type Placed, type Query } from './panels.js';

/** Panels that are placed together in a part of the width. */
export interface Block { w: number; block: Placed[] }
export interface Row { title?: string; folded?: boolean; panels: (Placed | Block)[] }

const COLUMNS = 24;

/** The panels with their positions, and the first grid line below them. */
function place(panels: (Placed | Block)[], left: number, top: number, columns: number, id: () => number): [Panel[], number] {
  const placed: Panel[] = [];
  let x = 0, y = top, below = top;
  for (const panel of panels) {
    if (x + panel.w > columns) [x, y] = [0, below];
    if ('block' in panel) {
      const [inner, end] = place(panel.block, left + x, y, panel.w, id);
      placed.push(...inner);
      below = Math.max(below, end);
    } else {
      const { w, h, ...rest } = panel;
      placed.push({ id: id(), gridPos: { x: left + x, y, w, h }, ...rest } as Panel);
      below = Math.max(below, y + h);
    }
    x += panel.w;
  }
  return [placed, below];
}

export function page(rows: Row[]): (Panel | RowPanel)[] {
  const all: (Panel | RowPanel)[] = [];
  let y = 0, last = 0;
  const id = () => ++last;
  for (const row of rows) {
    const number = row.title ? id() : 0;
    const head = row.title ? 1 : 0;
    const [panels, below] = place(row.panels, 0, y + head, COLUMNS, id);
    if (row.title)
      all.push({ id: number, type: 'row', title: row.title, collapsed: row.folded ?? false, panels: row.folded ? panels : [],
                 gridPos: { x: 0, y, w: COLUMNS, h: 1 } });
    if (!row.folded) all.push(...panels);
    y = row.folded ? y + head : below;
  }
  return all;
}

export const datasourceVariable: VariableModel = {
  name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', hide: VariableHide.dontHide,
};

/** Where the documentation is served; `./dev docs site` makes it. The default is a folder of Grafana's own static files. */
export const documentationVariable: VariableModel = {
  name: 'docs', label: 'Documentation', type: 'textbox', query: '/public/memscope', hide: VariableHide.dontHide,
};

function documentationLink(title: string, tooltip: string, page: string): DashboardLink {
  return { title, tooltip, type: 'link', url: '${docs}/' + page, icon: 'doc', tags: [], asDropdown: false, keepTime: false, includeVars: false, targetBlank: true };
}

/** A variable with the values of a label. `all`: the user can select several values, and all are selected by default. */
export function labelVariable(name: string, label: string, query: string, all = false): VariableModel {
  const variable: VariableModel = {
    name, label, type: 'query', datasource: DATASOURCE, query: { query, refId: name }, refresh: VariableRefresh.onTimeRangeChanged,
    sort: VariableSort.alphabeticalAsc, multi: all, includeAll: all, hide: VariableHide.dontHide,
  };
  return all ? { ...variable, allValue: '.*' } : variable;  // .* also matches series without the label
}

export function annotation(name: string, iconColor: string, expr: string, titleFormat: string): AnnotationQuery {
  const target: Query = { refId: 'A', expr, legendFormat: titleFormat, range: true };
  return { name, enable: true, iconColor, datasource: DATASOURCE, target, titleFormat, step: '10s' } as AnnotationQuery;
}

export function dashboard(uid: string, title: string, description: string,
                          it: { variables: VariableModel[]; annotations: AnnotationQuery[]; rows: Row[]; refresh: string; from: string }): Dashboard {
  return {
    uid, id: null, title, description, tags: ['memscope'], editable: true, graphTooltip: DashboardCursorSync.Crosshair, schemaVersion: 39,
    version: 1, timezone: 'browser', refresh: it.refresh, time: { from: it.from, to: 'now' },
    links: [{ title: 'memscope', type: 'dashboards', tags: ['memscope'], icon: 'external link', tooltip: '', asDropdown: false, keepTime: true,
              includeVars: false, targetBlank: false },
            documentationLink('memscope web on the node', 'How to open the page of memscope on the node that runs the job. It shows the processes, the lines of code and the Python containers that hold memory.', 'web.html#over-ssh'),
            documentationLink('Runbook', 'What to do when an alert fires', 'alerts.html')],
    annotations: { list: it.annotations }, templating: { list: [...it.variables, documentationVariable] }, panels: page(it.rows),
  };
}

// Makes Grafana panels from a title, a description and queries, and fills in all other options.
import {
  AxisPlacement, BarGaugeDisplayMode, BarGaugeNamePlacement, BarGaugeSizing, BarGaugeValueMode, BigValueColorMode, BigValueGraphMode,
  BigValueJustifyMode, BigValueTextMode, FieldColorModeId, GraphDrawStyle, LegendDisplayMode, MappingType, PercentChangeColorMode, SortOrder,
  StackingMode, TableCellHeight, ThresholdsMode, TooltipDisplayMode, VisibilityMode, VizOrientation,
} from '@grafana/schema';
import type { DataQuery, FieldColor, FieldConfig, GraphFieldConfig, Panel, TableFieldOptions, ThresholdsConfig, ValueMap } from '@grafana/schema';
import type { Options as BarGaugeOptions } from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type { Options as GaugeOptions } from '@grafana/schema/dist/esm/raw/composable/gauge/panelcfg/x/GaugePanelCfg_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { FieldConfig as TimelineField, Options as TimelineOptions } from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type { Options as TableOptions } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type { Options as TimeseriesOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

export interface Query extends DataQuery {
  expr: string;
  legendFormat: string;
  instant?: boolean;
  range?: boolean;
  format?: 'table' | 'time_series';
}

type Override = NonNullable<Panel['fieldConfig']>['overrides'][number];
type Words<Custom> = {
  title: string;
  description: string;
  unit: string;
  queries: Record<string, string>;  // legend to expression
  field?: FieldConfig<Custom>;
  overrides?: Override[];
};
export type Placed = Panel & { w: number; h: number };

export const colour = (name: string): FieldColor => ({ mode: FieldColorModeId.Fixed, fixedColor: name });
export const byQuery = (refId: string, properties: Override['properties']): Override =>
  ({ matcher: { id: 'byFrameRefID', options: refId }, properties });
export const byName = (name: string, properties: Override['properties']): Override =>
  ({ matcher: { id: 'byName', options: name }, properties });
/** `lowest`: the colour below the first step. Each step: a value, and the colour from that value on. */
export const steps = (lowest: string, ...rest: [number, string][]): ThresholdsConfig => ({
  mode: ThresholdsMode.Absolute, steps: [{ value: null, color: lowest }, ...rest.map(([value, color]) => ({ value, color }))],
});
/** One word and colour for each value. */
export const words = (entries: [string, string, string][]): ValueMap[] =>
  [{ type: MappingType.ValueToText, options: Object.fromEntries(entries.map(([value, text, color], index) => [value, { text, color, index }])) }];

function panel<Options, Custom>(type: string, size: [number, number], it: Words<Custom>, options: Options, custom: Custom | undefined,
                                kind: Partial<Query>): Placed {
  const targets: Query[] = Object.entries(it.queries).map(([legendFormat, expr], i) =>
    ({ refId: String.fromCharCode(65 + i), expr, legendFormat, ...kind }));
  const defaults = { unit: it.unit, ...it.field, ...(custom || it.field?.custom ? { custom: { ...custom, ...it.field?.custom } } : {}) };
  return {
    type, title: it.title, description: it.description, datasource: DATASOURCE,
    targets: targets as unknown as NonNullable<Panel['targets']>,
    fieldConfig: { defaults: defaults as FieldConfig, overrides: it.overrides ?? [] },
    options: options as Record<string, unknown>,
    transformations: [], transparent: false, w: size[0], h: size[1],
  } as Placed;
}

const LATEST = { calcs: ['lastNotNull'], values: false, fields: '' };
const NOW: Partial<Query> = { instant: true, range: false };

export function stat(size: [number, number], it: Words<never> & { text?: BigValueTextMode; graph?: boolean }): Placed {
  const options: StatOptions = {
    reduceOptions: LATEST, colorMode: BigValueColorMode.Value, graphMode: it.graph ? BigValueGraphMode.Area : BigValueGraphMode.None,
    textMode: it.text ?? BigValueTextMode.Auto, justifyMode: BigValueJustifyMode.Auto, orientation: VizOrientation.Auto,
    wideLayout: true, showPercentChange: false, percentChangeColorMode: PercentChangeColorMode.Standard,
  };
  return panel('stat', size, it, options, undefined, it.graph ? {} : NOW);
}

export function gauge(size: [number, number], it: Words<never>): Placed {
  const options = {
    reduceOptions: LATEST, showThresholdLabels: false, showThresholdMarkers: true, orientation: VizOrientation.Auto,
    sizing: BarGaugeSizing.Auto, minVizWidth: 75, minVizHeight: 75, shape: 'gauge', barShape: 'flat', barWidthFactor: 0.5,
    segmentCount: 1, segmentSpacing: 0.3, effects: {},
  } satisfies GaugeOptions;
  return panel('gauge', size, it, options, undefined, NOW);
}

export function bars(size: [number, number], it: Words<never>): Placed {
  const options = {
    reduceOptions: LATEST, displayMode: BarGaugeDisplayMode.Gradient, valueMode: BarGaugeValueMode.Color, orientation: VizOrientation.Horizontal,
    namePlacement: BarGaugeNamePlacement.Left, sizing: BarGaugeSizing.Auto, showUnfilled: true, minVizWidth: 8, minVizHeight: 16, maxVizHeight: 300,
    legend: { showLegend: false, displayMode: LegendDisplayMode.List, placement: 'bottom', calcs: [] },
  } satisfies BarGaugeOptions;
  return panel('bargauge', size, it, options, undefined, NOW);
}

/** Lines, or stacked areas for series that add up. */
export function lines(size: [number, number], it: Words<GraphFieldConfig> & { stacked?: boolean; legend?: 'right' | 'bottom' }): Placed {
  const custom: GraphFieldConfig = {
    drawStyle: GraphDrawStyle.Line, lineWidth: 1, fillOpacity: it.stacked ? 40 : 8, showPoints: VisibilityMode.Never,
    axisPlacement: AxisPlacement.Auto, stacking: { mode: it.stacked ? StackingMode.Normal : StackingMode.None, group: 'A' },
  };
  const options: TimeseriesOptions = {
    legend: it.legend === 'right'
      ? { displayMode: LegendDisplayMode.Table, placement: 'right', showLegend: true, calcs: ['lastNotNull', 'max'] }
      : { displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: true, calcs: [] },
    tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
  };
  return panel('timeseries', size, it, options, custom, {});
}

export function timeline(size: [number, number], it: Words<TimelineField>): Placed {
  const options = {
    showValue: VisibilityMode.Auto, rowHeight: 0.9, mergeValues: true, alignValue: 'left',
    legend: { displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: false, calcs: [] },
    tooltip: { mode: TooltipDisplayMode.Single, sort: SortOrder.None },
  } satisfies TimelineOptions;
  return panel('state-timeline', size, it, options, { lineWidth: 0, fillOpacity: 75 }, {});
}

export interface Column { label?: string; refId?: string; title: string; unit?: string; width?: number; properties?: Override['properties'] }

/** Drops the name of the metric. As a label it would put the values of two queries into different rows. */
const nameless = (expr: string) => `max without () (${expr})`;

/** One row for each set of labels, and one column for each query and each label in `columns`. Other labels are hidden. */
export function table(size: [number, number], it: Words<TableFieldOptions> & { columns: Column[]; sort?: { by: string; descending: boolean } }): Placed {
  const options = {
    cellHeight: TableCellHeight.Sm, frameIndex: 0, showHeader: true, showTypeIcons: false,
    ...(it.sort ? { sortBy: [{ displayName: it.sort.by, desc: it.sort.descending }] } : {}),
  } satisfies Omit<TableOptions, 'footer'>;
  const queries = Object.fromEntries(Object.entries(it.queries).map(([legend, expr]) => [legend, nameless(expr)]));
  const made = panel('table', size, { ...it, queries }, options, { align: 'auto', inspect: false } as TableFieldOptions, { ...NOW, format: 'table' });
  const field = (c: Column) => c.label ?? (Object.keys(it.queries).length > 1 ? `Value #${c.refId}` : 'Value');
  made.transformations = [
    { id: 'merge', options: {} },
    { id: 'filterFieldsByName', options: { include: { names: it.columns.map(field) } } },
    { id: 'organize', options: {
      indexByName: Object.fromEntries(it.columns.map((c, i) => [field(c), i])),
      renameByName: Object.fromEntries(it.columns.map((c) => [field(c), c.title])),
    } },
  ];
  made.fieldConfig!.overrides = it.columns.filter((c) => c.unit || c.width || c.properties).map((c) => byName(c.title, [
    ...(c.unit ? [{ id: 'unit', value: c.unit }] : []), ...(c.width ? [{ id: 'custom.width', value: c.width }] : []), ...(c.properties ?? []),
  ]));
  return made;
}

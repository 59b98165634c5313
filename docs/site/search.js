'use strict';
// Finds the sections that have every word of the query, or the beginning of a longer word. Works from file://.

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

// Where in the text a word begins with the given letters; -1: nowhere.
function positionOf(text, word) {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(lower[at - 1])) return at;
  }
  return -1;
}

// Higher is better; 0: a word is missing.
function scoreOf(section, words) {
  const [, , title, heading, text] = section;
  let score = 0;
  for (const word of words) {
    const found = (positionOf(title, word) >= 0 ? 6 : 0) + (positionOf(heading, word) >= 0 ? 10 : 0) +
      (positionOf(text, word) >= 0 ? 2 : 0);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

function find(index, query, most = 30) {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  return index.map((section) => ({ section, score: scoreOf(section, words) })).filter((one) => one.score > 0)
    .sort((a, b) => b.score - a.score).slice(0, most).map((one) => one.section);
}

// The text around the first word that was found.
function excerpt(text, words) {
  const at = Math.max(0, Math.min(...words.map((word) => positionOf(text, word)).filter((place) => place >= 0), text.length) - 60);
  return (at > 0 ? '…' : '') + text.slice(at, at + 220) + (at + 220 < text.length ? '…' : '');
}

function show(results, words) {
  const list = document.createElement('ol');
  for (const [page, anchor, title, heading, text] of results) {
    const item = document.createElement('li');
    const link = document.createElement('a');
    link.href = `${page}#${anchor}`;
    link.textContent = heading === title ? title : `${title}: ${heading}`;
    const part = document.createElement('div');
    part.textContent = excerpt(text, words);
    item.append(link, part);
    list.append(item);
  }
  return list;
}

if (typeof document !== 'undefined') {
  const input = document.getElementById('search');
  const place = document.getElementById('results');
  const page = document.getElementById('page');
  const update = () => {
    const results = find(searchIndex, input.value);
    const searching = input.value.trim() !== '';
    place.replaceChildren(searching && results.length > 0 ? show(results, wordsOf(input.value)) : document.createTextNode('Nothing was found.'));
    place.hidden = !searching;
    page.hidden = searching;
  };
  input.addEventListener('input', update);
  place.addEventListener('click', (event) => {
    if (event.target.tagName === 'A') { input.value = ''; update(); }
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && document.activeElement !== input) { event.preventDefault(); input.focus(); }
    if (event.key === 'Escape') { input.value = ''; update(); }
  });
} else {
  module.exports = { find, wordsOf };
}

// Elements in a line: h("button", {onclick: f, class: "x"}, "text"), and svg("circle", {r: 3}) alike.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Returns an HTML element with attributes, listeners (`onclick`) and children. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Returns an SVG element with attributes, listeners and children. */
export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

let fading;

/** Shows a line about what is waited for until it is over ("") or nothing more is heard of it. */
export function tell(text) {
  const line = document.getElementById("told");
  line.textContent = text;
  line.hidden = !text;
  clearTimeout(fading);
  fading = setTimeout(() => { line.hidden = true; }, 5000);
}

/** Returns the options of a select: those that may be chosen, and those that cannot be used with what is wrong. */
export const offered = (usable, unusable) => [...usable.map((one) => [one.name, one.title]),
  ...unusable.map((one) => [one.name, `${one.title} cannot be used: ${one.wrong}`, true])];

/** Returns a labelled select: options are [value, title] or, for one that cannot be chosen, [value, title, true]. */
export function select(label, options, value, onchange) {
  const list = h("select", { onchange: (event) => onchange(event.target.value) },
    options.map(([name, title, disabled]) => h("option", { value: name, selected: name === value, disabled }, title)));
  return h("label", {}, label + " ", list);
}

/** Shows one line about what went wrong, "" to take it away. */
export function complain(text) {
  const line = document.getElementById("problem");
  line.textContent = text;
  line.hidden = !text;
}

/** Runs what a person asked for; a problem becomes one line on the page. */
export async function trying(work) {
  try {
    return await work();
  } catch (problem) {
    if (problem.name === "AbortError") return undefined;
    complain(problem.message);
    if (problem.constructor.name !== "Problem") throw problem;
    return undefined;
  }
}

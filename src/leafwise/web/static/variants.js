// The options of a game as a form.

import { h } from "./dom.js";

/** Returns a form with a field for each option; `choose(options)` gets the options that differ from the defaults. */
export function optionsForm(about, choose) {
  const fields = Object.entries(about.option_values).map(([name, value]) => {
    const type = about.option_types[name] || "str";
    const input = type.includes("bool")
      ? h("input", { type: "checkbox", name, checked: value === true })
      : h("input", { type: "text", name, value: value === null ? "none" : String(value), size: 10, inputmode: /int|float/.test(type) ? "decimal" : null });
    return h(
      "p",
      {},
      h("label", { title: about.about.options[name] || "" }, `${name} `, input, h("small", { class: "quiet" }, about.about.options[name] || "")),
    );
  });
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        const options = {};
        for (const [name, type] of Object.entries(about.option_types)) {
          const input = event.target.elements[name];
          const value = type.includes("bool") ? input.checked : read(input.value.trim(), type);
          if (value !== about.option_defaults[name]) options[name] = value;
        }
        choose(options);
      },
    },
    fields,
    h("button", { type: "submit" }, "Play this variant"),
  );
}

/** Converts a typed option by its type; a wrong one stays text, which the server refuses in one line. */
function read(text, type) {
  if (type.includes("None") && text === "none") return null;
  if (/int|float/.test(type) && text !== "" && Number.isFinite(Number(text))) return Number(text);
  return text;
}

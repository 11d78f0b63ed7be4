// The linter of the page's modules: npm run check.
import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { files: ["src/leafwise/web/static/**/*.js"], languageOptions: { globals: globals.browser }, rules: { eqeqeq: "error", "prefer-const": "error", "no-var": "error" } },
];

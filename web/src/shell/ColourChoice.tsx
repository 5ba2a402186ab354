/** Light or dark, or as the system has it. */
import { useState } from "react";

import { SHELL } from "../words/shell";
import { SCHEMES, type Scheme, chooseScheme, chosenScheme } from "./colourScheme";

export function ColourChoice() {
  const [scheme, setScheme] = useState(chosenScheme);
  return (
    <label className="colour-choice small" title={SHELL.colours}>
      <span aria-hidden="true">◐</span>
      <select
        aria-label={SHELL.colours}
        value={scheme}
        onChange={({ target }) => {
          const chosen = target.value as Scheme;
          chooseScheme(chosen);
          setScheme(chosen);
        }}
      >
        {SCHEMES.map((each) => (
          <option key={each} value={each}>
            {SHELL.schemes[each]}
          </option>
        ))}
      </select>
    </label>
  );
}

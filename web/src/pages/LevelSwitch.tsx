/** Which level is shown: a radio for each, and those the page does not have are disabled. */
import type { Level } from "@pagefault/client";

import { LEVELS } from "./pageWords";
import { PAGES } from "../words/pages";

interface Props {
  levels: readonly Level[];
  level: Level;
  onChange: (level: Level) => void;
}

export function LevelSwitch({ levels, level, onChange }: Props) {
  return (
    <fieldset className="level-switch">
      <legend className="unseen">{PAGES.level}</legend>
      {LEVELS.map((each) => {
        const isThere = levels.includes(each.level);
        return (
          <label
            key={each.level}
            className={isThere ? undefined : "level-missing"}
            title={isThere ? each.meaning : PAGES.noLevel}
          >
            <input
              type="radio"
              name="level"
              checked={level === each.level}
              disabled={!isThere}
              onChange={() => onChange(each.level)}
            />
            {each.name}
            {!isThere && <span className="unseen">{PAGES.noLevelHere}</span>}
          </label>
        );
      })}
    </fieldset>
  );
}

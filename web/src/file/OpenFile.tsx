/** The button that chooses a file to be read. */
import { useNavigate } from "react-router";

import { FILE } from "../words/file";
import { openFile } from "./openedFile";

export function OpenFile() {
  const navigate = useNavigate();
  return (
    <label className="button import-button">
      {FILE.open}
      <input
        type="file"
        accept=".jsonl,.json,.zip"
        className="unseen"
        aria-label={FILE.openLabel}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // The same file may be chosen again when it has changed.
          target.value = "";
          if (file === undefined) return;
          void openFile(file);
          void navigate("/file");
        }}
      />
    </label>
  );
}

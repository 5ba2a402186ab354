/** Which session the rows are of, for links out of them. */
import { createContext } from "react";

export const SessionContext = createContext("");

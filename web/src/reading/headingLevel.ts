/** The level of headings in a text: below those of what it is part of, whatever the text says. */
import { createContext } from "react";

export const HeadingLevel = createContext(3);

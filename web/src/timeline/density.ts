/** Whether entries are lines or cards: as chosen on this device, else lines where there are many. */
import { useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";

import type { RowList } from "./useRowList";

const CHOICE = "density";
const MOST_CARDS = 50;

export type Density = "lines" | "cards";

export function useDensity(count: number): readonly [Density, (chosen: Density) => void] {
  const [chosen, setChosen] = useState(() => densityIn(localStorage.getItem(CHOICE)));
  const usual = count > MOST_CARDS ? "lines" : "cards";
  return [
    chosen ?? usual,
    (density) => {
      localStorage.setItem(CHOICE, density);
      setChosen(density);
    },
  ];
}

function densityIn(stored: string | null): Density | undefined {
  return stored === "lines" || stored === "cards" ? stored : undefined;
}

/** The rows that are opened while all are lines, by their numbers. */
export interface OpenedRows {
  readonly rows: ReadonlySet<number>;
  /** Opens a row, and gives the focus to one of its entries. */
  readonly open: (row: number, seq: number) => void;
  readonly close: (row: number) => void;
}

/** A line opens in its place, or, with `choose`, is shown elsewhere. */
export function useOpenedRows(
  { focus }: RowList,
  choose: ((seq: number) => void) | undefined,
): OpenedRows {
  const [rows, setRows] = useState<ReadonlySet<number>>(new Set());
  const latest = useRef({ focus, choose });
  latest.current = { focus, choose };
  return useMemo(() => {
    const change = (seq: number, changed: (rows: Set<number>) => void) => {
      // The focus goes along to what is drawn in place of what had it.
      flushSync(() => {
        setRows((before) => {
          const after = new Set(before);
          changed(after);
          return after;
        });
      });
      latest.current.focus.giveTo(seq);
    };
    return {
      rows,
      open: (row, seq) => {
        if (latest.current.choose === undefined) change(seq, (opened) => opened.add(row));
        else latest.current.choose(seq);
      },
      close: (row) => change(latest.current.focus.seen() ?? row, (opened) => opened.delete(row)),
    };
  }, [rows]);
}

// Loaded before a server, which then tells no time and draws no lots: it says the same each time.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";

Date.prototype.toISOString = () => "2026-01-01T12:00:00.000Z";
Date.prototype.toLocaleTimeString = () => "noon";
Math.random = () => 0.5;
crypto.randomUUID = () => "00000000-0000-4000-8000-000000000000";
crypto.randomBytes = (size) => Buffer.alloc(size);
syncBuiltinESMExports();

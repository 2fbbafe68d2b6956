// An ordinary Express app: POST /payments is a charge. Says on standard output where it listens.
"use strict";

const express = require("express");

const app = express();
let charges = 0;

app.post("/payments", (request, response) => {
  charges += 1;
  response.status(201).json({ charges });
});
app.get("/ledger", (request, response) => response.json({ charges }));

const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
// Ends with the test that started it.
process.stdin.on("end", () => process.exit(0)).resume();

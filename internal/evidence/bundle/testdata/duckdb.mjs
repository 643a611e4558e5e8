// The acceptance reader: duckdb.mjs SQL prints the rows as JSON.
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.NODE_TEST_MODULES, 'package.json'));
const { DuckDBInstance } = require('@duckdb/node-api');

const db = await DuckDBInstance.create(':memory:');
const reader = await (await db.connect()).runAndReadAll(process.argv[2]);
console.log(JSON.stringify(reader.getRowObjectsJson()));

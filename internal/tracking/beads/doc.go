// Package beads stores issues in the format of Beads, so that people and agents can work on them
// there.
//
// A [Backend] is the workspace of one tenant. The changes of an issue must come in the order of
// their times. They may be repeated in this order, for example after a crash. A transition that is
// older than the latest one has no effect.
//
// A table in the tracker's database contains the wanted, the last written and the currently written
// state of each issue. If the workspace contains anything else, a person wrote it, and Edits
// returns it until it is acknowledged. In titles, assignees, descriptions, notes, priorities and
// the status, people have priority over the tracker. In lists, what they add stays, and what they
// remove stays removed.
//
// # The embedded backend
//
// [Store] writes the file .beads/issues.jsonl for each workspace in the export format of Beads, and
// replaces it atomically. `bd import` can read it, and people and programs may edit it. Foreign
// issues and unknown fields stay unchanged. If a line is unreadable, the log gives its position,
// and the next export copies the file to issues.jsonl.rejected-… first.
//
// # The bd backend
//
// [BD] stores issues in real Beads workspaces, in one folder for each tenant. In each workspace,
// only one bd process runs at a time. A change counts as stored only if bd shows it afterwards.
// Issues that a person deletes with bd stay deleted. If bd refuses an issue three times, BD skips
// it until it changes or the tracker restarts.
//
// BD relies on these facts. They come from the source code of bd (1.0.3 to 1.0.5) and from running
// bd 1.0.5. TestBackends repeats the check if HOOKTRAIL_TEST_BD contains the path of bd.
//
//   - bd matches ids by substring, except in batch. BD therefore compares the returned id, and all
//     ids have the same length. An id that is only part of several ids is called ambiguous.
//   - create --id and import overwrite and reopen an existing issue. BD imports only issues that
//     show reports as missing. import skips links to missing issues. Comment ids must be unique in
//     a workspace.
//   - Since 1.0.5, show --json includes comments only with --include-comments.
//   - An answer can be truncated. An issue is missing only if bd says so in words.
//   - Since 1.0.3, BD_JSON_ENVELOPE=1 wraps answers as {"schema_version":1,"data":…}. batch exists
//     since 1.0.1. The exit status of all errors is 1, also for "nothing to commit". Errors go to
//     stdout or stderr. Some contain the usage text or the refused commands.
//   - Titles have at most 500 bytes, although bd says characters, and descriptions have at most
//     65,535. bd reads the description "-" from its input, splits labels at commas and trims
//     titles.
//   - bd waits without limit for the lock of its database. A killed bd may have stored its change
//     or not. A killed bd init leaves a folder that bd cannot use.
//   - bd imports an existing .beads/issues.jsonl into an empty database, and may write that file. A
//     workspace therefore belongs to one backend.
//   - The database Dolt reports its use to its maker, unless DOLT_METRICS_DISABLED is set.
//   - Without BEADS_DIR, bd searches the parent folders for a workspace. bd init commits to a Git
//     repository around the workspace, so BD hides such repositories.
//   - bd stamps changes with the current time.
//   - bd cannot change comments. To erase one, BD deletes and recreates the issue. The history of
//     the database keeps the old text until a person runs `bd flatten` and a garbage collection.
//   - Debian has another program with the name bd. `bd version --json` shows the difference.
package beads

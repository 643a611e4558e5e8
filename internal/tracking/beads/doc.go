// Package beads stores issues in the format of Beads, so that people and agents can work on them
// there.
//
// A [Backend] is the workspace of one tenant. Callers make the changes of an issue in the order of
// their times. They may repeat changes in this order, for example after a crash. A transition that
// is older than the latest transition has no effect.
//
// A table in the tracker's database contains three states of each issue: the wanted state, the last
// written state, and the state being written. If the workspace contains anything else, a person
// wrote it. Such edits stay in the workspace, and Edits returns them until they are acknowledged.
// In titles, assignees, descriptions, notes, priorities and the status, people have priority over
// the tracker. Elements that people add to a list stay, and elements that they remove stay removed.
//
// # The embedded backend
//
// [Store] writes the file .beads/issues.jsonl for each workspace. The file is in the export format
// of Beads, sorted by id, and replaced atomically. `bd import` can read it, and people and programs
// may edit it. Lines of other issues and unknown fields stay unchanged. If a line is unreadable,
// the log gives its position. The next export first copies the whole file to
// issues.jsonl.rejected-… in the same folder.
//
// # The bd backend
//
// [BD] stores issues in real Beads workspaces. bd init creates them in one folder for each tenant.
// In each workspace, only one bd process runs at a time. A round handles at most ten issues. It
// consists of show, one import for all new issues, one batch for status changes, one batch for
// links, calls for texts, labels and comments, and show again. A change counts as stored only if
// the last show returns it. Issues that a person deletes with bd stay deleted. If bd refuses an
// issue three times, BD skips it until it changes or the tracker restarts.
//
// BD relies on these facts. They come from the source code of bd (1.0.3 to 1.0.5) and from running
// bd 1.0.5, which passes TestBackends if HOOKTRAIL_TEST_BD contains its path:
//
//   - bd matches ids by substring, except in batch. BD therefore compares the returned id, and
//     all ids have the same length. An id that is only part of several ids is called ambiguous.
//   - create --id and import overwrite and reopen an existing issue. BD uses import, and only
//     for issues that show reports as missing. import skips links to missing issues. Comment
//     ids are unique in a workspace, and bd assigns an id to a comment without one.
//   - Since 1.0.5, show --json includes comments only with --include-comments.
//   - BD ignores a truncated answer, and an answer that does not mention a requested issue. An
//     issue is missing only if bd says so in words.
//   - Since 1.0.3, BD_JSON_ENVELOPE=1 wraps answers as {"schema_version":1,"data":…}. batch
//     exists since 1.0.1. The exit status of all errors is 1, also for "nothing to commit",
//     which is not a failure. Errors go to stdout or stderr. Some contain the usage text, which
//     mentions locks. batch repeats the commands that it refuses.
//   - Titles have at most 500 bytes, although bd says characters, and descriptions have at most
//     65,535. bd reads the description "-" from its input, splits labels at commas and trims
//     titles. BD passes comments in a file.
//   - bd waits without limit for the lock of its database. A killed bd may have stored its
//     change or not. A killed bd init leaves a folder that bd cannot use.
//   - bd imports an existing .beads/issues.jsonl into an empty database, and may write that
//     file. A workspace therefore belongs to one backend.
//   - The database Dolt reports its use to its maker once a day, unless DOLT_METRICS_DISABLED is
//     set. It checks no other variable.
//   - BEADS_DIR names the workspace. Without it, bd searches the parent folders. bd init commits
//     to a Git repository around the workspace, so BD hides such repositories.
//   - bd stamps changes with the current time and not with the time of the event.
//   - bd cannot change comments. To erase one, BD deletes and recreates the issue. The history
//     of the database keeps the old text until `bd flatten` and a garbage collection, which only
//     a person may start.
//   - Debian has another program with the name bd. `bd version --json` shows the difference.
package beads

// Package beads stores issues in the format of Beads, so that people and agents can work on
// them there. All backends implement the same interface, [Backend].
//
// A Backend is the workspace of one tenant. Callers make the changes of an issue in the order
// of their times. They may repeat changes, for example after a crash. If they repeat them in
// the same order, the result stays the same. A transition that is older than the latest one has
// no effect.
//
// A table in the tracker's database contains three states of each issue. These are the wanted
// state, the state that was last written to the workspace, and the state that is being written.
// If the workspace contains anything else, a person wrote it. Such edits stay in the workspace,
// and Edits returns them until the caller acknowledges them. For titles, assignees,
// descriptions, notes, priorities and the status, the change of a person has priority over the
// tracker. If people add elements to a list, these stay. If they remove elements, the tracker
// does not add them again.
//
// Every error of a Backend wraps [ErrTransient] or one of the errors declared with it. The
// wrapped error shows whether a retry can succeed.
//
// # The embedded backend
//
// [Store] writes the file .beads/issues.jsonl for each workspace. It has the export format of
// Beads and is sorted by id. Store always replaces the whole file atomically. `bd import` can
// read the file, and people and programs may edit it. Lines of other issues stay unchanged to
// the byte, and unknown fields of an issue stay too. If a line is unreadable, the log gives its
// position as path:line:column. The next export first copies the whole file to
// issues.jsonl.rejected-… in the same folder.
//
// # The bd backend
//
// [BD] stores issues in real Beads workspaces, which bd init creates in one folder for each
// tenant. In each workspace, only one bd process runs at a time. BD updates a workspace in
// rounds of at most ten issues. A round consists of show, one import for all new issues, one
// batch for all status changes, one batch for links, calls for texts, labels and comments, and
// show again. A change counts as stored only if the last show returns it. After an update, BD
// waits two seconds before the next update of the same workspace, to collect changes. bd runs
// without a shell and without input. BD kills the process group of bd after 15 s, or after 60 s
// for bd init. On Linux, bd also dies when this process dies.
//
// BD relies on these facts about bd. They come from the source code of bd (1.0.3 to 1.0.5) and
// from running bd 1.0.5. That version passes TestBackends if HOOKTRAIL_TEST_BD contains its
// path:
//
//   - bd matches ids by substring, except in batch. BD therefore compares the returned id, and
//     all ids have the same length. If an id does not exist but is part of several ids, bd
//     calls it ambiguous.
//   - create --id and import overwrite and reopen an existing issue. BD uses import, and only
//     for issues that show reports as missing. If an import fails, BD imports each issue alone.
//     import skips links to missing issues. Comment ids are unique in a workspace, and bd
//     assigns an id to a comment without one.
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
//
// If a person deletes an issue with bd, it stays deleted. If bd refuses an issue three times,
// BD logs this and skips the issue until the issue changes or the tracker restarts.
package beads

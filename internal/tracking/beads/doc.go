// Package beads keeps issues where people and agents work on them: in the
// format of Beads, behind one contract for all backends.
//
// A workspace is one tenant's issues, a [Backend]. What the tracker asks of it
// may be asked again at any time, after a crash for example: making an issue
// that exists, repeating a change and repeating a comment all do nothing. The
// changes of an issue come in the order of their times; one that is older than
// the latest changes nothing.
//
// For every backend the truth of what issues are to be like is a table in the
// tracker's own database. Beside each issue it has what was written to the
// workspace last, and what is on its way there. What the workspace has and is
// neither was done by a person: it is kept, stays when the tracker writes, and is
// returned by Edits until the caller has it safe. People win over the tracker in
// titles, assignees, descriptions, notes, priorities, and wherever they move an
// issue; what they add to the lists of an issue stays, what they take from them is
// gone.
//
// Errors say what becomes of a call: see [ErrTransient] and its siblings.
//
// # The embedded backend
//
// [Store] writes .beads/issues.jsonl for each workspace in Beads' export format,
// as a whole and atomically, sorted by id, so that `bd import` reads it and
// nobody ever reads half of it. People and programs may edit the file. Lines that
// are not the tracker's stay to the byte, fields that it does not know stay with
// their issues. A line that cannot be read is told as path:line:column; the next
// export keeps the whole file under another name beside it.
//
// # The bd backend
//
// [BD] keeps issues in real Beads workspaces: a folder for each tenant, made with
// bd init, one call of bd at a time in each. A round of calls is show, import of
// all that is new, one batch for all changes of status, one for links, an update
// for texts and labels, and show again; what the last one says is what was
// stored, whatever the writing said. Rounds of one workspace are two seconds
// apart, so that changes gather; in each are ten issues at most, as bd takes half a
// second of a busy machine for one. bd runs without a shell and without input, in a
// process group that is ended when it takes longer than 15 s. On Linux it also ends
// when this process does, however that ends.
//
// Facts about bd that this rests on, seen in its source (1.0.3 to 1.0.5) and by
// running 1.0.5, which passes TestBackends where HOOKTRAIL_TEST_BD names it:
//
//   - Ids match by a part of them; only batch takes them as they are. So the id
//     that comes back is compared, and ids have one length. What does not exist and
//     is a part of several ids is ambiguous.
//   - create --id and import write over an issue that exists, and reopen it. So
//     both are for issues that show says do not exist; import is used, because one
//     call makes any number of issues with all they have. It fails as a whole, then
//     each is tried alone. It leaves out links to what does not exist. Ids of
//     comments are those of a workspace: a second one fails; without one it makes one.
//   - show --json has comments only with --include-comments, which is there since
//     1.0.5; before, it has them always.
//   - An answer that is cut off, or that has nothing about an issue that was asked
//     for, is none: nothing is made of it. Absence is what bd says in words.
//   - Answers come as {"schema_version":1,"data":…} with BD_JSON_ENVELOPE=1, since
//     1.0.3; batch is there since 1.0.1. Errors end with 1, so does "nothing to
//     commit", which is fine. Some commands print errors to stdout, some to stderr,
//     some with how they are used, where there is talk of locks. What batch refuses
//     it repeats.
//   - Titles have at most 500 bytes, though it says characters; descriptions
//     65,535. A description that is "-" is read from the input, labels are split
//     at commas, a title is trimmed. Texts of comments go by file.
//   - It waits for ever for the lock of its database, and can be killed before or
//     after it stored something. A bd init that is killed leaves what nobody gets over.
//   - It takes in a .beads/issues.jsonl beside an empty database, and may write one
//     itself: a workspace belongs to one backend.
//   - The database in it, Dolt, reports its use to its maker once a day, unless
//     DOLT_METRICS_DISABLED is set; no other variable is asked.
//   - BEADS_DIR decides which workspace it works on; without it, it looks in the
//     folders above. bd init commits to a Git repository that it is in, so it is
//     kept from looking for one above the workspace.
//   - Changes get the time at which they are written, not that of the event.
//   - Comments cannot be changed: to erase one, its issue is deleted and made anew.
//     The history of its database keeps what was erased until `bd flatten` and a
//     garbage collection; only a person may decide that.
//   - Another program of the name is in Debian: `bd version --json` tells.
//
// An issue that a person deletes with bd stays deleted. One that bd refuses three
// times is logged and left alone until it changes or the tracker starts again.
package beads

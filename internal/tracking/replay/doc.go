// Package replay folds a history again, under other rules than those that it was
// decided under, and says what that changes. Nothing is published, and no issue is
// touched.
//
// A [Replay] is such a fold: package issues decides, package issuedb keeps what
// comes of it, in a database that is gone when the Replay is closed. The history is
// a file of CloudEvents, or the stream as far as a tracker has read it. Memory is
// bounded whatever its length.
//
// # Seam
//
// Above it, [Command] is the command whatif; it is told how to connect with a
// tracker's rights. Who asks something else of a file, as why does, folds it with
// [Input.Fold] and reads [Replay.Conn] with the functions of package issuedb.
//
// Below it, the tracker's own file is read with package issuedb alone: which
// configuration is today's, which issues there are, how far the stream was read. No
// tracker has to run, and nothing here knows how one works.
package replay

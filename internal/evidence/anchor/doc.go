// Package anchor brings the newest checkpoints of the ledgers to places outside the
// ledgers' folder: a file, a bucket at the broker, witnesses that cosign them.
//
// [Keepers] run behind the ledgers, which never wait for them: what cannot be kept
// is tried again, told in the log and by [Keepers.Failure], and holds nothing up.
// Each place gets the newest checkpoint of a ledger at most once a second, and
// nothing there is replaced that the ledger does not continue: one that was cut off
// or rewritten does not wipe out the proof of it.
//
// Where there is a bucket, auditors with data directories of their own and copies of
// one key take turns in it (package checkpoints): who has not the turn brings nothing
// anywhere, and compares what the other one brings with its own ledgers.
package anchor

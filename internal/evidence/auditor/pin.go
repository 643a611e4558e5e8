package auditor

import (
	"context"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/pins"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const pinTimeout = 5 * time.Second

func pinKey(ctx context.Context, o Options, key *writer.Key) {
	if o.KnownLedgers == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pinTimeout)
	defer cancel()
	outcome, e, before, err := PinKey(ctx, o.KnownLedgers, o.DataDir, key.Public(), o.Now())
	switch {
	case err != nil:
		o.Logger.WarnContext(ctx, "key not pinned, auditor key pin does it later", "error", err)
	case outcome == pins.Refused:
		o.Logger.ErrorContext(ctx, "another key is pinned for this data directory: restore the key, "+
			"or pin the new one with auditor key pin --key if you replaced it",
			"key", key.ID(), "pinned", keyID(before.Key), "since", before.Seen, "of", e.Dir, "in", o.KnownLedgers)
	case outcome != pins.Unchanged:
		o.Logger.InfoContext(ctx, "pinned key", "key", key.ID(), "of", e.Dir, "in", o.KnownLedgers)
	}
}

// PinKey stores a public key as the pinned key of a data directory in the file at path. If another
// key is pinned, PinKey replaces it only if signed key changes lead from the pinned key to public.
func PinKey(ctx context.Context, path, dataDir, public string, now time.Time) (o pins.Outcome, e, before pins.Entry, err error) {
	dir, err := pins.DirOf(dataDir)
	if err != nil {
		return "", e, before, err
	}
	_, changes, err := ledger.ReadChain(KeyDir(dataDir), public)
	if err != nil {
		return "", e, before, err
	}
	e = pins.Entry{Origin: pins.AnyOrigin, Dir: dir, Key: public, Seen: now}
	o, before, err = pins.Pin(ctx, path, e, func(old string) bool { return pins.Leads(old, public, changes) })
	return o, e, before, err
}

func keyID(public string) string {
	v, err := ledger.ParseKey(public)
	if err != nil {
		return ""
	}
	return ledger.KeyID(v)
}

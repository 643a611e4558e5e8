package auditor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// EndorseIssuer endorses the issuer key of the data directory with the signing key. Call
// EndorseIssuer before an outbox is opened, because the outbox needs an endorsement for its grants
// to count.
func EndorseIssuer(ctx context.Context, o Options) error {
	_, err := openKey(ctx, o.withDefaults())
	return err
}

func endorseIssuer(ctx context.Context, o Options, key *writer.Key) {
	path, err := broker.IssuerKey(o.DataDir)
	if err == nil {
		err = Endorse(path, "", key.Public(), key.Signer())
	}
	if err != nil {
		o.Logger.WarnContext(ctx, "issuer of the data directory not endorsed, its new producers are not enrolled", "error", err)
	}
}

// Endorse writes an endorsement of the issuer at path next to it, unless there is one. An empty
// tenant means all.
func Endorse(path, tenant, public string, signer note.Signer) error {
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		return err
	}
	path += publish.EndorsedEnding
	had, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("endorsement: %w", err)
	}
	signed, err := endorsement(string(had), issuer.Public(), tenant, public, signer)
	if err != nil || signed == string(had) {
		return err
	}
	if err := atomicfile.Write(path, []byte(signed)); err != nil {
		return fmt.Errorf("endorsement: %w", err)
	}
	return nil
}

func endorsement(had, issuer, tenant, public string, signer note.Signer) (signed string, err error) {
	verifier, err := ledger.ParseKey(public)
	if err != nil {
		return "", err
	}
	if e, err := ledger.OpenEndorsement(had, note.VerifierList(verifier)); err == nil && e.Issuer == issuer && e.Tenant == tenant {
		return had, nil
	}
	return ledger.Endorsement{Issuer: issuer, Tenant: tenant, Time: time.Now()}.Sign(signer)
}

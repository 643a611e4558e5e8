package auditor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// endorseIssuer endorses the issuer of the data directory, so that its new producers are enrolled.
func endorseIssuer(ctx context.Context, o Options, key *writer.Key) {
	path, err := broker.IssuerKey(o.DataDir)
	if err == nil {
		err = Endorse(path, "", key.Public(), key.Signer())
	}
	if err != nil {
		o.Logger.WarnContext(ctx, "issuer of the data directory not endorsed, its new producers are not enrolled", "error", err)
	}
}

// Endorse writes an endorsement of the issuer at path into a file next to it. It keeps an
// endorsement that the same key signed for the same tenant. An empty tenant means all tenants.
func Endorse(path, tenant, public string, signer note.Signer) error {
	issuer, err := publish.OpenIssuer(path)
	if err != nil {
		return err
	}
	verifier, err := ledger.ParseKey(public)
	if err != nil {
		return err
	}
	path += publish.EndorsedEnding
	had, err := os.ReadFile(path)
	if err == nil {
		e, err := ledger.OpenEndorsement(string(had), note.VerifierList(verifier))
		if err == nil && e.Issuer == issuer.Public() && e.Tenant == tenant {
			return nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("endorsement: %w", err)
	}
	signed, err := ledger.Endorsement{Issuer: issuer.Public(), Tenant: tenant, Time: time.Now()}.Sign(signer)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, []byte(signed)); err != nil {
		return fmt.Errorf("endorsement: %w", err)
	}
	return nil
}

// ShareKey stores the verifier key of the ledgers in another data directory, so that a tracker there
// obeys the orders that the key signed. It changes nothing in a data directory with a signing key.
func ShareKey(dataDir, public string) error {
	dir := KeyDir(dataDir)
	if writer.HasKey(dir) {
		return nil
	}
	if err := atomicfile.Write(filepath.Join(dir, ledger.VerifierFile), []byte(public+"\n")); err != nil {
		return fmt.Errorf("share the verifier key: %w", err)
	}
	return nil
}

package auditor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

func endorseFolders(cmd *cobra.Command, shared *cli.Shared, folders []string) error {
	for _, folder := range folders {
		if err := checkFolder(folder); err != nil {
			return cli.Usage("--for %s: %w", folder, err)
		}
	}
	keys := auditor.KeyDir(shared.DataDir)
	if err := auditor.CheckKey(shared.DataDir); err != nil {
		return err
	}
	if _, err := writer.OpenKey(keys); err != nil {
		return err
	}
	signer, public, err := writer.ReadSigner(writer.KeyFile(keys))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := auditor.EndorseFor(folder, shared.Tenant, public, signer); err != nil {
			return fmt.Errorf("--for %s: %w", folder, err)
		}
	}
	return cli.Print(cmd, shared, map[string][]string{"endorsed": folders}, func(out io.Writer) {
		for _, folder := range folders {
			fmt.Fprintf(out, "endorsed: the issuer of %s\n", termtext.Printable(folder))
		}
	})
}

func checkFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("%w (create the data directory first, if its service has not started yet)", err)
	}
	isEmpty := true
	for _, e := range entries {
		if slices.Contains([]string{"keys", "outbox", "broker.json"}, e.Name()) {
			return nil
		}
		isEmpty = isEmpty && e.Name() == "lost+found"
	}
	if !isEmpty {
		return errors.New("it is not empty and not a data directory of Hooktrail")
	}
	return nil
}

func ownIssuer(public, path string) Issuer {
	own := Issuer{Key: public}
	text, err := os.ReadFile(path + publish.EndorsedEnding)
	if err != nil {
		return own
	}
	_, err = note.Open(text, note.VerifierList())
	unverified, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok || len(unverified.Note.UnverifiedSigs) == 0 {
		return own
	}
	e, err := ledger.ParseEndorsement(unverified.Note.Text)
	if err == nil && e.Issuer == public {
		sig := unverified.Note.UnverifiedSigs[0]
		own.Tenant, own.Endorsed, own.EndorsedBy = e.Tenant, e.Time, fmt.Sprintf("%s+%08x", sig.Name, sig.Hash)
	}
	return own
}

func (i Issuer) endorsement() string {
	if i.EndorsedBy == "" {
		return "not endorsed"
	}
	text := fmt.Sprintf("endorsed by %s on %s", i.EndorsedBy, i.Endorsed.Format(time.RFC3339))
	if i.Tenant != "" {
		text += " for tenant " + termtext.Printable(i.Tenant)
	}
	return text
}

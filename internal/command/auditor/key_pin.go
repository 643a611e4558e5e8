package auditor

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/pins"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

type keyPinned struct {
	Outcome pins.Outcome `json:"outcome"`
	ID      string       `json:"id"` // short name in reports
	Key     string       `json:"key"`
	Origin  string       `json:"origin"`   // "*" means all ledgers of the data directory
	DataDir string       `json:"data_dir"` // "-" means any
	Since   time.Time    `json:"since"`
	Was     string       `json:"was,omitempty"` // short name of the replaced key
	File    string       `json:"file"`
}

func pinCommand(shared *cli.Shared, known *knownLedgers) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "pin",
		Short: "Remember the key, so that verify notices another one",
		Long: `Write the verifier key of the data directory into the file of the keys that this user
has seen. hooktrail up and auditor serve do the same for the user who runs them.
auditor verify then says PINNED, and DIVERGED if another key takes its place. The file
is outside the data directory, because an attacker may be able to write there.

With --key, pin a key that its owner gave you. Without --data-dir it is valid for
evidence from anywhere, such as bundles, and with --tenant only for the ledger of that
tenant. --key also replaces a pin. Without it, a pin is replaced only if the old key
signed the change.`,
		Example: `  auditor key pin
  auditor key pin --key ledger.pub
  auditor key pin --key ledger.pub --tenant acme`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := known.path()
			if err != nil {
				return err
			}
			done, err := pinNow(cmd, shared, path, key)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, done, func(out io.Writer) { fmt.Fprintln(out, done) })
		},
	}
	known.register(cmd.Flags())
	cmd.Flags().StringVar(&key, "key", "", "verifier `key` to pin, or a file with it; default is ledger.pub in the data directory")
	return cmd
}

func pinNow(cmd *cobra.Command, shared *cli.Shared, path, key string) (done keyPinned, err error) {
	var e, before pins.Entry
	if key == "" {
		done.Outcome, e, before, err = pinOwn(cmd, shared, path)
	} else if e, err = entryOf(cmd, shared, key); err == nil {
		done.Outcome, before, err = pins.Pin(cmd.Context(), path, e, func(string) bool { return true })
	}
	if err != nil {
		return done, err
	}
	done.ID, done.Key, done.Origin, done.DataDir, done.Since, done.File = idOf(e.Key), e.Key, e.Origin, e.Dir, e.Seen, path
	switch done.Outcome {
	case pins.Refused:
		return done, fmt.Errorf("%s is pinned for %s since %s, and no signed change leads from it to %s: "+
			"ask the owner whether the key was replaced, and name the new one with --key",
			idOf(before.Key), before.Dir, before.Seen.Format(time.RFC3339), done.ID)
	case pins.Unchanged:
		done.Since = before.Seen
	case pins.Replaced:
		done.Was = idOf(before.Key)
	case pins.Added:
	}
	return done, nil
}

func pinOwn(cmd *cobra.Command, shared *cli.Shared, path string) (o pins.Outcome, e, before pins.Entry, err error) {
	shown, err := showKey(shared)
	if err != nil {
		return "", e, before, err
	}
	return auditor.PinKey(cmd.Context(), path, shared.DataDir, shown.Key, time.Now())
}

func entryOf(cmd *cobra.Command, shared *cli.Shared, key string) (e pins.Entry, err error) {
	text, err := keyFlag(key)
	if err != nil {
		return e, err
	}
	e = pins.Entry{Origin: pins.AnyOrigin, Dir: pins.AnyDir, Key: text, Seen: time.Now()}
	_, own, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if cli.Given(cmd, "data-dir") || err == nil && own == text {
		e.Dir, err = pins.DirOf(shared.DataDir)
		return e, err
	}
	if cli.Given(cmd, "tenant") {
		if e.Origin, err = ledger.Origin(shared.Tenant); err != nil {
			return e, cli.Usage("%w", err)
		}
	}
	return e, nil
}

func (p keyPinned) String() string {
	of := "any ledger"
	switch {
	case p.DataDir != pins.AnyDir:
		of = p.DataDir
	case p.Origin != pins.AnyOrigin:
		of = p.Origin
	}
	text := fmt.Sprintf("pinned key %s of %s in %s", p.ID, of, p.File)
	switch p.Outcome {
	case pins.Unchanged:
		text = fmt.Sprintf("key %s of %s is pinned since %s in %s", p.ID, of, p.Since.Format(time.RFC3339), p.File)
	case pins.Replaced:
		text += ", instead of " + p.Was
	case pins.Added, pins.Refused:
	}
	return termtext.Printable(text)
}

func repin(ctx context.Context, shared *cli.Shared, known knownLedgers, public string) error {
	entries, err := known.entries()
	if err != nil {
		return err
	}
	dir, err := pins.DirOf(shared.DataDir)
	if err != nil {
		return err
	}
	_, changes, err := ledger.ReadChain(auditor.KeyDir(shared.DataDir), public)
	if err != nil || len(changes) == 0 {
		return err
	}
	old := changes[len(changes)-1].Old
	for _, e := range entries {
		if e.Dir != dir || e.Key != old {
			continue
		}
		path, err := known.path()
		if err != nil {
			return err
		}
		e.Key, e.Seen = public, time.Now()
		if _, _, err := pins.Pin(ctx, path, e, func(pinned string) bool { return pinned == old }); err != nil {
			return err
		}
	}
	return nil
}

func idOf(public string) string {
	v, err := ledger.ParseKey(public)
	if err != nil {
		return public
	}
	return ledger.KeyID(v)
}

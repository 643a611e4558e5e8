package auditor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/bundle"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

type signing struct {
	file     string
	unsigned bool
}

func (s *signing) register(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.StringVar(&s.file, "signing-key", "",
		"private `file` of the ledger's key that signs "+what+"; default is ledger.key in the data directory, if it is there")
	flags.BoolVar(&s.unsigned, "unsigned", false, "do not sign "+what)
	cmd.MarkFlagsMutuallyExclusive("signing-key", "unsigned")
}

func (s signing) key(stderr io.Writer, shared *cli.Shared) (note.Signer, string, error) {
	if s.unsigned {
		return nil, "", nil
	}
	if s.file != "" {
		return writer.ReadSigner(s.file)
	}
	signer, public, err := writer.ReadSigner(writer.KeyFile(auditor.KeyDir(shared.DataDir)))
	if errors.Is(err, sshkey.ErrAgent) {
		fmt.Fprintln(stderr, err)
		return nil, "", nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, "", nil
	}
	return signer, public, err
}

func (s signing) write(cmd *cobra.Command, w io.Writer, r *ledger.Reader, opts bundle.Options) error {
	err := s.tryWrite(cmd, w, r, opts)
	if errors.Is(err, bundle.ErrOtherKey) && s.file == "" {
		opts.Signer = nil
		err = s.tryWrite(cmd, w, r, opts)
	}
	if errors.Is(err, bundle.ErrInvalid) {
		return &cli.StatusError{Status: verifier.ExitInvalid, Err: fmt.Errorf("%w (--unsigned exports it without a signature)", err)}
	}
	err = damaged(err)
	if err == nil && opts.Signer == nil && !s.unsigned {
		fmt.Fprintln(cmd.ErrOrStderr(), "the selection is not signed, because the ledger's private key is not here: "+
			"auditor verify never finds this bundle COMPLETE (sign with --signing-key)")
	}
	return err
}

func (s signing) tryWrite(cmd *cobra.Command, w io.Writer, r *ledger.Reader, opts bundle.Options) error {
	if opts.Signer == nil && !s.unsigned {
		if err := verifyExported(cmd, r, opts); err != nil {
			return err
		}
	}
	return bundle.WriteBundle(cmd.Context(), w, r, opts)
}

func (s signing) reportInvalid(cmd *cobra.Command, r *ledger.Reader, opts bundle.Options) error {
	err := verifyExported(cmd, r, opts)
	if errors.Is(err, bundle.ErrInvalid) {
		return &cli.StatusError{Status: verifier.ExitInvalid, Err: errors.New("the bundle was written, and its ledger is INVALID: auditor verify shows the problems")}
	}
	return err
}

func verifyExported(cmd *cobra.Command, r *ledger.Reader, opts bundle.Options) error {
	key, err := ledger.ParseKey(opts.Key)
	if err != nil {
		return err
	}
	report, err := verifier.Verify(cmd.Context(), r.Path(), verifier.Options{Key: key, Changes: opts.Changes, Tenant: r.Tenant()})
	if err == nil && report.Exit == verifier.ExitInvalid {
		return bundle.ErrInvalid
	}
	return err
}

func damaged(err error) error {
	if errors.Is(err, ledger.ErrDamaged) {
		return &cli.StatusError{Status: verifier.ExitInvalid, Err: err}
	}
	return err
}

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

func (s *signing) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.file, "signing-key", "",
		"private `file` of the ledger's key that signs the selection of a bundle; default is ledger.key in the data directory, if it is there")
	flags.BoolVar(&s.unsigned, "unsigned", false, "do not sign the selection of a bundle")
	cmd.MarkFlagsMutuallyExclusive("signing-key", "unsigned")
}

// key returns the signer and its public key. It uses the key in --signing-key, or else the key of
// the data directory. If the key of the data directory is not usable, the signer is nil.
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

// write writes a bundle. The bundle stays unsigned if the key in the data directory is not the key
// of the ledger. A wrong --signing-key is an error.
func (s signing) write(cmd *cobra.Command, w io.Writer, r *ledger.Reader, opts bundle.Options) error {
	err := bundle.WriteBundle(cmd.Context(), w, r, opts)
	if errors.Is(err, bundle.ErrOtherKey) && s.file == "" {
		opts.Signer = nil
		err = bundle.WriteBundle(cmd.Context(), w, r, opts)
	}
	if errors.Is(err, bundle.ErrInvalid) {
		return &cli.StatusError{Status: verifier.ExitInvalid, Err: fmt.Errorf("%w (--unsigned exports it without a signature)", err)}
	}
	if err == nil && opts.Signer == nil && !s.unsigned {
		fmt.Fprintln(cmd.ErrOrStderr(), "the selection is not signed, because the ledger's private key is not here: "+
			"auditor verify never finds this bundle COMPLETE (sign with --signing-key)")
	}
	return err
}

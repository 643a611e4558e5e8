package auditor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// verification are the flags of verify.
type verification struct {
	file           string
	key            string
	trusted        string
	requireTrusted bool
	checkpointFile anchor.File
	bucket         bool // compare with the broker's, if there is one
	witnessPolicy  string
	silence        time.Duration

	proof string
	event string
}

func verifyCommand(shared *cli.Shared) *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use:   "verify [BUNDLE]",
		Short: "Check that nothing was altered and that nothing is missing",
		Long: `Check a ledger from its first byte, and come to two verdicts.

Integrity: nothing was altered since it was signed. Completeness: everything is
there that the producers sent. Verify needs neither a server nor the auditor, only
the ledger's file and the public key.

A thief of the signing key can sign another history. Compare with a checkpoint
that was kept elsewhere: verify --json prints the newest one as checkpoint.note. What
the broker's bucket has is compared too, where --nats-url names a broker or one runs
in the data directory.

With the file of a bundle, which auditor export wrote, check that instead. Without
--key, and without a key in the data directory, its own key has to do: then it
fits together, and who made it is not proved.

With --proof check the proof of one event instead, which auditor proof printed,
and with --event that this is the event: 0 when it holds, 40 when it does not.

With --witness-policy the witnesses that the file names have to have cosigned a
checkpoint of the ledger, as many as it asks for, and not long before the newest.

Exit status, the highest that applies:
   0  verified and complete
  10  without the witnesses that --witness-policy asks for
  11  intact, but not complete
  20  --require-trusted, and no trusted checkpoint was given or found
  30  diverged from a trusted checkpoint
  40  invalid`,
		Example: `  auditor verify --tenant acme
  auditor verify --json | jq -r .checkpoint.note > /safe/acme.checkpoint
  auditor verify --ledger copy/ledger.db --key ledger.pub --trusted /safe/acme.checkpoint
  auditor verify r-42.zip --key ledger.pub
  auditor verify --proof e.tlog-proof --event e.json --key ledger.pub`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && slices.ContainsFunc(notOfBundles, func(flag string) bool { return cli.Given(cmd, flag) }):
				return cli.Usage("--%s are not for a bundle", strings.Join(notOfBundles, ", --"))
			case len(args) > 0:
				if err := notABundle(args[0]); err != nil {
					return err
				}
				return v.runBundle(cmd, shared, args[0])
			case v.proof != "":
				return v.runProof(cmd, shared)
			case v.event != "":
				return cli.Usage("--event goes with --proof")
			}
			return v.run(cmd, shared)
		},
	}
	v.flagsOf(cmd)
	return cmd
}

func (v *verification) flagsOf(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&v.file, "ledger", "", "`file` of the ledger; default is the tenant's in the data directory")
	flags.StringVar(&v.key, "key", "", "verifier `key`, or a file with it; default is ledger.pub in the data directory")
	flags.StringVar(&v.trusted, "trusted", "", "`file` with a checkpoint of this ledger that was kept elsewhere")
	flags.StringVar((*string)(&v.checkpointFile), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&v.bucket, "checkpoint-bucket", true,
		"compare with the broker's bucket of checkpoints too, where --nats-url names one or one runs in the data directory")
	flags.StringVar(&v.witnessPolicy, "witness-policy", "", anchor.PolicyUsage)
	flags.BoolVar(&v.requireTrusted, "require-trusted", false, "exit with 20 without --trusted and a kept checkpoint")
	flags.DurationVar(&v.silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
	flags.StringVar(&v.proof, "proof", "", "`file` with the proof of one event to check, instead of a ledger")
	flags.StringVar(&v.event, "event", "", "`file` with the event that --proof is to prove")
	cmd.MarkFlagsMutuallyExclusive("proof", "ledger")
	cmd.MarkFlagsMutuallyExclusive("proof", "trusted")
	cmd.MarkFlagsMutuallyExclusive("proof", "require-trusted")
}

func (v verification) run(cmd *cobra.Command, shared *cli.Shared) error {
	opts := verifier.Options{Silence: v.silence, RequireTrusted: v.requireTrusted}
	// A file that is named may be anybody's ledger, unless a tenant is named too.
	if v.file == "" || shared.Tenant != "" {
		opts.Tenant = shared.TenantOrDefault()
	}
	var err error
	if opts.Key, err = v.verifier(shared); err != nil {
		return err
	}
	if v.trusted != "" {
		if opts.Trusted, err = os.ReadFile(v.trusted); err != nil {
			return fmt.Errorf("trusted checkpoint: %w", err)
		}
	}
	if v.checkpointFile != "" {
		if err := v.checkpointFile.Validate(opts.Tenant); err != nil {
			return cli.Usage("%w", err)
		}
		// Before the ledger: it must have grown behind what is kept, not the other
		// way round.
		opts.Anchored = append(opts.Anchored, v.checkpointFile.Kept(cmd.Context(), opts.Tenant))
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "verify")
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	report, err := v.verify(cmd.Context(), shared, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	return printVerdict(cmd, shared, report, report.Exit, func(out io.Writer) { PrintReport(out, report) })
}

func (v verification) verify(ctx context.Context, shared *cli.Shared, opts verifier.Options) (verifier.Report, error) {
	path, err := ledgerPath(shared.DataDir, shared.TenantOrDefault(), v.file)
	if err != nil {
		return verifier.Report{}, err
	}
	if err := v.askBucket(ctx, shared, &opts, path); err != nil {
		return verifier.Report{}, err
	}
	if err := v.askWitnesses(&opts, path); err != nil {
		return verifier.Report{}, err
	}
	report, err := verifier.Verify(ctx, path, opts)
	if errors.Is(err, os.ErrNotExist) && v.file == "" {
		err = noLedger(shared.DataDir, shared.TenantOrDefault(), path)
	}
	return report, err
}

// verifier returns the key that must have signed.
func (v verification) verifier(shared *cli.Shared) (note.Verifier, error) {
	if v.key == "" {
		key, _, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w (name the key with --key)", err)
		}
		return key, err
	}
	key, _, err := keyFlag(v.key)
	return key, err
}

// keyFlag reads a verifier key, or the file with one.
func keyFlag(value string) (key note.Verifier, text string, err error) {
	text = value
	if data, err := os.ReadFile(value); err == nil {
		text = string(data)
	}
	if key, text, err = ledger.ParseVerifier(text); err != nil {
		return nil, "", cli.Usage("--key is neither a verifier key nor a file with one: %w", err)
	}
	return key, text, nil
}

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
	bucket         bool // compare with the broker's bucket, if there is a broker
	witnessPolicy  string
	silence        time.Duration

	proof string
	event string
}

func verifyCommand(shared *cli.Shared) *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use:   "verify [BUNDLE]",
		Short: "Verify that evidence is unaltered and complete",
		Long: `Verify a ledger from its first byte and print two verdicts.

Integrity: no record was altered after it was signed. Completeness: the ledger has
all events that the producers sent. Verify needs only the ledger file and the public
key, and no server.

A thief of the signing key can sign another history. Compare the ledger with a
checkpoint that was stored elsewhere. verify --json prints the newest checkpoint as
checkpoint.note. If --nats-url names a broker, or one runs in the data directory,
verify also compares the ledger with the checkpoint in its bucket.

With the file of a bundle made by auditor export, verify the bundle instead. Without
--key and without a key in the data directory, verify uses the key in the bundle.
Then the bundle is consistent, but its author is not proved.

With --proof, check the proof of one event made by auditor proof. With --event, also
check that it is the proof of this event. The status is 0 if the proof is valid and
40 if not.

With --witness-policy, the witnesses in the file must have cosigned a recent
checkpoint of the ledger, as many as the policy requires.

Exit status, the highest that applies:
   0  verified and complete
  10  too few cosignatures for --witness-policy
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
				return cli.Usage("--event needs --proof")
			}
			return v.run(cmd, shared)
		},
	}
	v.flagsOf(cmd)
	return cmd
}

func (v *verification) flagsOf(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&v.file, "ledger", "", "`file` of the ledger; default is the ledger of the tenant in the data directory")
	flags.StringVar(&v.key, "key", "", "verifier `key`, or a file with it; default is ledger.pub in the data directory")
	flags.StringVar(&v.trusted, "trusted", "", "`file` with a checkpoint of this ledger that was stored elsewhere")
	flags.StringVar((*string)(&v.checkpointFile), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&v.bucket, "checkpoint-bucket", true,
		"compare with the broker's bucket of checkpoints too, if --nats-url names a broker or one runs in the data directory")
	flags.StringVar(&v.witnessPolicy, "witness-policy", "", anchor.PolicyUsage)
	flags.BoolVar(&v.requireTrusted, "require-trusted", false, "exit with 20 if no checkpoint from outside is given or found")
	flags.DurationVar(&v.silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
	flags.StringVar(&v.proof, "proof", "", "`file` with the proof of one event to check, instead of a ledger")
	flags.StringVar(&v.event, "event", "", "`file` with the event of --proof")
	cmd.MarkFlagsMutuallyExclusive("proof", "ledger")
	cmd.MarkFlagsMutuallyExclusive("proof", "trusted")
	cmd.MarkFlagsMutuallyExclusive("proof", "require-trusted")
}

func (v verification) run(cmd *cobra.Command, shared *cli.Shared) error {
	opts := verifier.Options{Silence: v.silence, RequireTrusted: v.requireTrusted}
	// A named file may be the ledger of any tenant, unless --tenant is given too.
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
		// Read the stored checkpoint before the ledger, which may grow meanwhile.
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

// verifier returns the key that must have signed the checkpoints.
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

// keyFlag reads a verifier key or a file with one.
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

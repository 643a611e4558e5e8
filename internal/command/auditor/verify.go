package auditor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/pins"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

type verification struct {
	file            string
	key             string
	trusted         string
	requireTrusted  bool
	requireEnrolled bool // producers without enrolment affect the exit status
	allowKnown      bool // acknowledged findings do not affect the exit status
	maxAge          time.Duration
	checkpointFile  anchor.File
	bucket          bool // compare with the checkpoint bucket if there is a broker
	witnessPolicy   string
	tsaCert         string
	known           knownLedgers
	silence         time.Duration
	wait            time.Duration

	proof  string
	event  string
	report string
	only   selection // judge the completeness of this run and time
}

const requireEnrolledUsage = "exit with 11 if a producer is not enrolled"

func verifyCommand(shared *cli.Shared) *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use:   "verify [BUNDLE]",
		Short: "Verify that evidence is unaltered and complete",
		Long:  verifyHelp,
		Example: `  auditor verify --tenant acme
  auditor verify --json | jq -r .checkpoint.note > /safe/acme.checkpoint
  auditor verify --ledger copy/ledger.db --key ledger.pub --trusted /safe/acme.checkpoint
  auditor verify r-42.zip --key ledger.pub
  auditor verify --proof e.tlog-proof --event e.json --key ledger.pub
  auditor verify --report 2026-11-19.txt --key ledger.pub`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				if err := cmp.Or(checkBundleFlags(cmd), findBundle(args[0]), notABundle(args[0])); err != nil {
					return err
				}
				return v.runBundle(cmd, shared, args[0])
			case v.report != "":
				return v.runReport(cmd, shared)
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
	v.registerSource(flags)
	v.registerWait(flags)
	flags.StringVar(&v.trusted, "trusted", "", "`file` with a checkpoint of this ledger that was stored elsewhere")
	flags.StringVar((*string)(&v.checkpointFile), "checkpoint-file", "", anchor.FileUsage)
	flags.BoolVar(&v.bucket, "checkpoint-bucket", true,
		"compare with the broker's bucket of checkpoints too, if --nats-url names a broker or one runs in the data directory")
	flags.StringVar(&v.witnessPolicy, "witness-policy", "", anchor.PolicyUsage)
	flags.StringVar(&v.tsaCert, "tsa-cert", "", tsaUsage)
	flags.BoolVar(&v.requireTrusted, "require-trusted", false, "exit with 20 if no checkpoint from outside is given or found")
	flags.BoolVar(&v.requireEnrolled, "require-enrolled", false, requireEnrolledUsage)
	v.registerTolerance(flags)
	flags.StringVar(&v.only.run, "run", "", "judge the completeness of this `run` alone; "+startUsage)
	v.only.registerTimes(flags, whenStored)
	flags.StringVar(&v.proof, "proof", "", "`file` with the proof of one event to check, instead of a ledger")
	flags.StringVar(&v.event, "event", "", "`file` with the event of --proof")
	flags.StringVar(&v.report, "report", "", "`file` with a report of auditor report to check, and to compare with the ledger if that is here")
	for _, of := range []string{"proof", "event", "trusted", "require-trusted", "tsa-cert", "run", "from", "to", "max-age"} {
		cmd.MarkFlagsMutuallyExclusive("report", of)
	}
	cmd.MarkFlagsMutuallyExclusive("proof", "ledger")
	cmd.MarkFlagsMutuallyExclusive("proof", "trusted")
	for _, of := range []string{"run", "from", "to", "tsa-cert", "max-age"} {
		cmd.MarkFlagsMutuallyExclusive("proof", of)
	}
	cmd.MarkFlagsMutuallyExclusive("proof", "require-trusted")
	cmd.MarkFlagsMutuallyExclusive("proof", "require-enrolled")
}

func (v *verification) registerSource(flags *pflag.FlagSet) {
	registerLedger(flags, &v.file)
	v.known.register(flags)
	flags.StringVar(&v.key, "key", "", "verifier `key`, or a file with it; default is ledger.pub in the data directory, which needs a pin")
	flags.DurationVar(&v.silence, "silence", verifier.DefaultSilence, "how long a run is silent before it counts as ended")
}

func (v verification) run(cmd *cobra.Command, shared *cli.Shared) error {
	opts, err := v.options(cmd, shared)
	if err != nil {
		return err
	}
	if v.file == "" || shared.Tenant != "" {
		opts.Tenant = shared.TenantOrDefault()
	}
	if opts.Key, err = v.verifier(shared); err != nil {
		return err
	}
	opts.Changes = rotations(shared.DataDir)
	if v.trusted != "" {
		if opts.Trusted, err = os.ReadFile(v.trusted); err != nil {
			return fmt.Errorf("trusted checkpoint: %w", err)
		}
	}
	if v.checkpointFile != "" {
		if err := v.checkpointFile.Validate(opts.Tenant); err != nil {
			return cli.Usage("%w", err)
		}
		// Read the checkpoint first, because the ledger may grow while verify reads it.
		opts.Anchored = append(opts.Anchored, v.checkpointFile.Checkpoint(cmd.Context(), opts.Tenant))
	}
	if err := v.askTimeStamps(&opts, shared); err != nil {
		return err
	}
	report, err := v.verify(cmd, shared, opts)
	if err != nil {
		return err
	}
	if err := v.foundNothing(opts, report); err != nil {
		return err
	}
	report.Explain("verify a backup, or build the ledger again from the stream with auditor rebuild")
	return printVerdict(cmd, shared, report, report.Exit, func(out io.Writer) { PrintReport(out, report) })
}

func (v verification) verify(cmd *cobra.Command, shared *cli.Shared, opts verifier.Options) (verifier.Report, error) {
	report, at, err := v.judge(cmd, shared, opts)
	if at != nil {
		report.SetAsOf(*at)
		report.LimitAge(v.maxAge)
	}
	return report, err
}

func (v verification) judge(cmd *cobra.Command, shared *cli.Shared, opts verifier.Options) (_ verifier.Report, _ *verifier.AsOf, err error) {
	path, err := ledgerPath(shared.DataDir, shared.TenantOrDefault(), v.file)
	if err != nil {
		return verifier.Report{}, nil, err
	}
	if opts.Anchor, err = v.anchoring(shared); err != nil {
		return verifier.Report{}, nil, err
	}
	if err := v.askBucket(cmd, shared, &opts, path); err != nil {
		return verifier.Report{}, nil, err
	}
	if err := v.askWitnesses(&opts, path); err != nil {
		return verifier.Report{}, nil, err
	}
	asked := ask(cmd, shared, source{file: v.file, path: path}, v.wait)
	defer asked.close()
	bar := cli.NewProgress(cmd.ErrOrStderr(), cmd.Name())
	defer bar.Finish()
	opts.Progress = func(done, total int64) { bar.Set(uint64(done), uint64(total)) }
	report, err := verifier.Verify(cmd.Context(), path, opts)
	if errors.Is(err, os.ErrNotExist) && v.file == "" {
		err = noLedger(shared.DataDir, shared.TenantOrDefault(), path)
	}
	if err == nil {
		report.Redacted.Unclean, err = writer.UncleanFile(path)
	}
	return report, asked.about(cmd.Context(), report), err
}

func (v verification) verifier(shared *cli.Shared) (note.Verifier, error) {
	if v.key == "" {
		key, _, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w (name the key with --key)", err)
		}
		return key, err
	}
	return parseKey(v.key)
}

func parseKey(flag string) (note.Verifier, error) {
	text, err := keyFlag(flag)
	if err != nil {
		return nil, err
	}
	return ledger.ParseKey(text)
}

// checkKey comes before the search for a ledger, because a wrong flag is an error of usage.
func checkKey(flag string) error {
	if flag == "" {
		return nil
	}
	_, err := parseKey(flag)
	return err
}

func (v verification) anchoring(shared *cli.Shared) (*verifier.Anchoring, error) {
	switch {
	case v.key == "":
		return v.known.anchoring(shared.DataDir)
	case v.ownKey(shared.DataDir):
		a, err := v.known.anchoring(shared.DataDir)
		if err == nil {
			a.Void = "--key names the file of the data directory itself, which vouches for nothing"
		}
		return a, err
	case v.file == "":
		return v.known.given(shared.DataDir)
	}
	return v.known.given("")
}

// ownKey reports whether --key names the key file next to the ledger. That file proves nothing,
// because an attacker who replaced the ledger could also replace the key.
func (v verification) ownKey(dataDir string) bool {
	named, err := os.Stat(v.key)
	if err != nil {
		return false
	}
	if v.file != "" { // DATA/ledger/TENANT/ledger.db
		file, err := filepath.Abs(v.file)
		if err != nil {
			return false
		}
		dataDir = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	}
	own, err := os.Stat(filepath.Join(auditor.KeyDir(dataDir), ledger.VerifierFile))
	return err == nil && os.SameFile(named, own)
}

func (v verification) exported() (*verifier.Anchoring, error) {
	if v.key == "" {
		return v.known.anchoring("")
	}
	return v.known.given("")
}

func keyFlag(value string) (text string, err error) {
	text = value
	if data, err := os.ReadFile(value); err == nil {
		text = string(data)
	}
	if text, err = pins.Canonical(text); err != nil {
		return "", cli.Usage("--key is neither a verifier key nor a file with one: %w", err)
	}
	return text, nil
}

package hookclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// DefaultTimeout is how long a decision may keep an agent waiting.
const DefaultTimeout = 5 * time.Second

// Flags are those of publisher hook.
type Flags struct {
	Hooks      string        // file with hooks that decide here; empty: none
	FailClosed bool          // deny what nobody could decide on or record
	Timeout    time.Duration // of a decision
	Publisher  string        // address of a publisher elsewhere; empty: that of the data directory
	Redaction  Redaction
}

// Register adds the flags to cmd.
func (f *Flags) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Hooks, "hooks", "", "`file` with hooks that decide here, besides those of the publisher")
	flags.BoolVar(&f.FailClosed, "fail-closed", false, "deny what nobody could decide on or record")
	flags.DurationVar(&f.Timeout, "timeout", DefaultTimeout, "how long a decision may take")
	flags.StringVar(&f.Publisher, "publisher", "", "`URL` of a publisher elsewhere that decides and takes the events; its token comes from "+TokenVariable)
	f.Redaction.Register(cmd)
}

// Validate reports the first flag that a hook command could do nothing with: who
// writes its command line asks, the command itself makes do.
func (f *Flags) Validate() error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: want more than nothing", f.Timeout)
	}
	if f.Publisher == "" {
		return nil
	}
	_, err := publisherURL(f.Publisher)
	return err
}

// TokenVariable holds the token for a publisher elsewhere. There is no flag: a
// command line is not secret.
const TokenVariable = "HOOKTRAIL_TOKEN"

// Command returns the command publisher hook. It reads its flags itself, so that its
// exit status is always one that agents do not take for a denial unless it is one.
func Command(shared *cli.Shared) *cobra.Command {
	var flags Flags
	cmd := &cobra.Command{
		Use:   "hook TOOL [EVENT]",
		Short: "Answer a hook of an agent",
		Long: "hook reads one hook payload of an agent from stdin, records it, and answers as that agent\n" +
			"expects it. TOOL is one of " + strings.Join(agents.Names(), ", ") + ".\n" +
			"EVENT names the hook event of payloads that do not say it.\n\n" +
			"The publisher that serves the same data directory decides, or that of --publisher, and so do the\n" +
			"hooks of --hooks: deny wins, then ask, then allow. Without any of them everything may go on, and\n" +
			"is recorded: the event waits in the data directory until a publisher runs. The exit status is 0\n" +
			"unless the agent takes a denial from it; mistakes in the command line are told on stderr.",
		Example: "  publisher hook claude-code < payload.json\n" +
			"  publisher hook claude-code --hooks hooks.yaml --fail-closed < payload.json\n" +
			"  publisher hook copilot-cli preToolUse < payload.json",
		// A usage error would end with a status that agents take for a denial.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		PersistentPreRunE:  func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			return answerHook(cmd, shared, &flags, args)
		},
	}
	flags.Register(cmd)
	return cmd
}

// answerHook runs the command. It always ends with a status of its own, and
// never with that of an error or a panic, which agents would take for a denial.
func answerHook(cmd *cobra.Command, shared *cli.Shared, flags *Flags, args []string) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "%s: internal error: %v\n", cmd.CommandPath(), r)
			err = cli.Exit(cli.ExitOK)
		}
	}()
	wrong := parseHookFlags(cmd, shared, args)
	if errors.Is(wrong, pflag.ErrHelp) {
		return cmd.Help()
	}
	h := &hook{
		Flags: *flags, dataDir: shared.DataDir, tenant: shared.Tenant,
		stdin: cmd.InOrStdin(), token: os.Getenv(TokenVariable),
	}
	if wrong != nil {
		// The flags behind what is wrong were not read.
		h.wrong, h.FailClosed = wrong, h.FailClosed || slices.Contains(args, "--fail-closed")
		h.problem(wrong)
		args = slices.DeleteFunc(args, func(arg string) bool { return !slices.Contains(agents.Names(), arg) })
	} else {
		args = cmd.Flags().Args()
	}
	h.identify(args)
	h.patience = h.Timeout + grace
	closing, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	a := h.answer(ctx)
	if _, err := cmd.OutOrStdout().Write(a.reply.Stdout); err != nil {
		fmt.Fprintf(stderr, "%s: print the answer: %v\n", cmd.CommandPath(), err)
	}
	fmt.Fprint(stderr, a.reply.Stderr)
	for _, p := range a.problems {
		fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), cli.Printable(p))
	}
	if wrong != nil {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	a.close(closing)
	return cli.Exit(a.reply.Exit)
}

// parseHookFlags reads the command line and the environment. What is wrong with
// a flag leaves it as it is by default.
func parseHookFlags(cmd *cobra.Command, shared *cli.Shared, args []string) error {
	cmd.DisableFlagParsing = false
	err := cmd.ParseFlags(args)
	if help, _ := cmd.Flags().GetBool("help"); help {
		return pflag.ErrHelp
	}
	if err == nil {
		err = cli.FromEnvironment(cmd.Flags())
	}
	if shared.DataDir == "" {
		shared.DataDir = cli.DefaultDataDir()
		err = errors.Join(err, errors.New("--data-dir: empty, want a folder"))
	}
	return err
}

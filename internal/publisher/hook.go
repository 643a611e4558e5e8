package publisher

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

	"github.com/hooktrail/hooktrail/internal/agents"
	"github.com/hooktrail/hooktrail/internal/cli"
)

// DefaultHookTimeout is how long a decision may keep an agent waiting.
const DefaultHookTimeout = 5 * time.Second

// hookFlags are the flags of publisher hook.
type hookFlags struct {
	hooks      string
	failClosed bool
	timeout    time.Duration
	publisher  string
	redaction  Redaction
}

func (f *hookFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.hooks, "hooks", "", "`file` with hooks that decide here, besides those of the publisher")
	flags.BoolVar(&f.failClosed, "fail-closed", false, "deny what nobody could decide on or record")
	flags.DurationVar(&f.timeout, "timeout", DefaultHookTimeout, "how long a decision may take")
	flags.StringVar(&f.publisher, "publisher", "", "`URL` of a publisher elsewhere that decides and takes the events; its token comes from "+tokenVariable)
}

// tokenVariable holds the token for a publisher elsewhere. There is no flag: a
// command line is not secret.
const tokenVariable = "HOOKTRAIL_TOKEN"

func hookCommand(shared *cli.Shared) *cobra.Command {
	var flags hookFlags
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
	flags.register(cmd.Flags())
	flags.redaction.Register(cmd)
	return cmd
}

// answerHook runs the command. It always ends with a status of its own, and
// never with that of an error or a panic, which agents would take for a denial.
func answerHook(cmd *cobra.Command, shared *cli.Shared, flags *hookFlags, args []string) (err error) {
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
		hookFlags: *flags, dataDir: shared.DataDir, tenant: shared.Tenant,
		stdin: cmd.InOrStdin(), token: os.Getenv(tokenVariable),
	}
	if wrong != nil {
		// The flags behind what is wrong were not read.
		h.wrong, h.failClosed = wrong, h.failClosed || slices.Contains(args, "--fail-closed")
		h.problem(wrong)
		args = slices.DeleteFunc(args, func(arg string) bool { return !slices.Contains(agents.Names(), arg) })
	} else {
		args = cmd.Flags().Args()
	}
	h.identify(args)
	h.patience = h.timeout + grace
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

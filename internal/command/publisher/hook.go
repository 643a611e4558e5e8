package publisher

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// tokenVariable is the environment variable with the token for --publisher. A flag would be visible
// to other users.
const tokenVariable = "HOOKTRAIL_TOKEN"

type hookFlags struct {
	hooks      string
	failClosed bool
	timeout    time.Duration
	publisher  string
	redaction  Redaction
}

func (f *hookFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.hooks, "hooks", "", "`file` with local hooks that decide in addition to the hooks of the publisher")
	flags.BoolVar(&f.failClosed, "fail-closed", false, "deny a call that cannot be decided or recorded")
	flags.DurationVar(&f.timeout, "timeout", hookclient.DefaultTimeout, "time limit of a decision")
	flags.StringVar(&f.publisher, "publisher", "", "`URL` of a publisher that decides and takes the events, such as unix:///run/hooktrail/publisher.sock; its token comes from "+tokenVariable)
	f.redaction.Register(cmd)
}

// validate checks the flags for publisher install. The command publisher hook instead replaces
// invalid values and continues.
func (f *hookFlags) validate() error {
	if f.timeout <= 0 {
		return fmt.Errorf("--timeout %v: must be positive", f.timeout)
	}
	if f.publisher == "" {
		return nil
	}
	return hookclient.CheckURL(f.publisher, f.hooks)
}

func hookCommand(shared *cli.Shared) *cobra.Command {
	var flags hookFlags
	cmd := &cobra.Command{
		Use:   "hook TOOL [EVENT]",
		Short: "Answer a hook of an agent",
		Long: "hook reads one hook payload of an agent from stdin, records it, and answers in the format of that\n" +
			"agent. TOOL is one of " + strings.Join(agents.Names(), ", ") + ".\n" +
			"EVENT names the hook event, for payloads without its name.\n\n" +
			"The decision comes from the publisher at --publisher, or from the one that serves the same data\n" +
			"directory, and from the hooks of --hooks. Deny wins over ask, and ask over allow. Without any of\n" +
			"them the agent may go on, and the event waits in the data directory until a publisher runs. The\n" +
			"exit status is 0 unless the agent reads a denial from it. Errors in the command line go to stderr.\n\n" +
			"A publisher at unix://PATH runs as another user (publisher serve --socket PATH). It alone decides,\n" +
			"with its hooks, and records the payload with the name of this user.",
		Example: "  publisher hook claude-code < payload.json\n" +
			"  publisher hook claude-code --hooks hooks.yaml --fail-closed < payload.json\n" +
			"  publisher hook copilot-cli preToolUse < payload.json",
		// The command parses its flags itself, because agents would take cobra's exit status for a
		// usage error as a denial.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		PersistentPreRunE:  func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			return runHook(cmd, shared, &flags, args)
		},
	}
	flags.register(cmd)
	return cmd
}

// runHook answers one hook payload. It exits with status 0 even after a panic, because agents take
// other statuses for a denial.
func runHook(cmd *cobra.Command, shared *cli.Shared, flags *hookFlags, args []string) (err error) {
	stderr := cmd.ErrOrStderr()
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "%s: internal error: %v\n", cmd.CommandPath(), r)
			err = cli.Exit(cli.ExitOK)
		}
	}()
	invalid := parseHookFlags(cmd, shared, args)
	if errors.Is(invalid, pflag.ErrHelp) {
		return cmd.Help()
	}
	opts := hookOptions(cmd, shared, flags, args, invalid)
	result := hookclient.Answer(cmd.Context(), cmd.InOrStdin(), opts)
	defer result.Close(cmd.Context())
	if _, err := cmd.OutOrStdout().Write(result.Reply.Stdout); err != nil {
		fmt.Fprintf(stderr, "%s: print the answer: %v\n", cmd.CommandPath(), err)
	}
	fmt.Fprint(stderr, result.Reply.Stderr)
	for _, p := range result.Problems {
		fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), termtext.Printable(p))
	}
	if invalid != nil {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return cli.Exit(result.Reply.Exit)
}

// If a flag has an invalid value, parseHookFlags keeps the flag's default and returns the first
// error.
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

// hookOptions converts flags and args to options. It replaces invalid values and reports them in
// opts.Problems.
func hookOptions(cmd *cobra.Command, shared *cli.Shared, flags *hookFlags, args []string, invalid error) hookclient.Options {
	opts := hookclient.Options{
		DataDir: shared.DataDir, Tenant: shared.Tenant, Hooks: flags.hooks, Timeout: flags.timeout, FailClosed: flags.failClosed,
		Publisher: flags.publisher, Token: os.Getenv(tokenVariable), Redactor: flags.redaction.Redactor(), Invalid: invalid,
	}
	problem := func(err error) { opts.Problems = append(opts.Problems, err.Error()) }
	if invalid != nil {
		// Parsing stopped at an invalid flag, so look for --fail-closed and the agent in all
		// arguments.
		problem(invalid)
		opts.FailClosed = opts.FailClosed || slices.Contains(args, "--fail-closed")
		args = slices.DeleteFunc(args, func(arg string) bool { return !slices.Contains(agents.Names(), arg) })
	} else {
		args = cmd.Flags().Args()
	}
	if opts.Timeout <= 0 {
		problem(fmt.Errorf("--timeout %v: not positive; %v counts", opts.Timeout, hookclient.DefaultTimeout))
		opts.Timeout = hookclient.DefaultTimeout
	}
	if len(args) == 0 {
		problem(errors.New("no agent is named: publisher hook TOOL"))
		return opts
	}
	tool, err := agents.Named(args[0])
	if err != nil {
		problem(err)
	} else {
		opts.Tool = tool
	}
	if len(args) > 1 {
		opts.Event = args[1]
	}
	if len(args) > 2 {
		problem(fmt.Errorf("%d arguments too many: publisher hook TOOL [EVENT]", len(args)-2))
	}
	return opts
}

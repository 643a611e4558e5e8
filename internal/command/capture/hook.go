// Package capture implements the hook command: publisher hook, and the program hooktrail-capture.
package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/platform/flagenv"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

// TokenVariable is the environment variable for the token. Other users could see a flag.
const TokenVariable = "HOOKTRAIL_TOKEN"

// Long describes the command.
var Long = "hook reads one hook payload of an agent from stdin, records it, and answers in the format of that\n" +
	"agent. TOOL is one of " + strings.Join(agents.Names(), ", ") + ".\n" +
	"EVENT names the hook event, for payloads without its name.\n\n" +
	"The decision comes from the publisher at --publisher, or from the one that serves the same data\n" +
	"directory, and from the hooks of --hooks. Deny wins over ask, and ask over allow. Without any of\n" +
	"them the agent may go on, and the event waits in the data directory until a publisher runs. The\n" +
	"exit status is 0 unless the agent reads a denial from it. Errors in the command line go to stderr.\n\n" +
	"A publisher at unix://PATH runs as another user (publisher serve --socket PATH). It alone decides,\n" +
	"with its hooks, and records the payload with the name of this user."

// Flags are the flags of the hook command.
type Flags struct {
	Hooks      string
	FailClosed bool
	Timeout    time.Duration
	Publisher  string
	NoRedact   bool
	Unanswered bool
	isSteered  bool // the environment names the publisher
}

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Hooks, "hooks", "", "`file` with local hooks that decide in addition to the hooks of the publisher")
	flags.BoolVar(&f.FailClosed, "fail-closed", false, "deny a call that cannot be decided or recorded")
	flags.DurationVar(&f.Timeout, "timeout", hookclient.DefaultTimeout, "time limit of a decision")
	flags.StringVar(&f.Publisher, "publisher", "", "`URL` of a publisher that decides and takes the events, such as unix:///run/hooktrail/publisher.sock; its token comes from "+TokenVariable)
	flags.BoolVar(&f.NoRedact, "no-redact", false, "store secrets and personal data unchanged")
	flags.BoolVar(&f.Unanswered, hooksocket.UnansweredFlag, false, "do not ask the publisher, which has had its time")
	_ = flags.MarkHidden(hooksocket.UnansweredFlag) // it exists
	flagenv.LineOnly(flags, hooksocket.UnansweredFlag)
}

// FromEnvironment must be called after variables have set flags. The environment can belong to the
// agent, because some agents read a file .env of the project. So a variable cannot shorten the time
// limit, and a publisher of a variable does not replace the one of the data directory.
func (f *Flags) FromEnvironment(flags *pflag.FlagSet) {
	if flagenv.IsSet(flags.Lookup("timeout")) {
		f.Timeout = max(f.Timeout, hookclient.DefaultTimeout)
	}
	f.isSteered = flagenv.IsSet(flags.Lookup("publisher"))
}

// Validate returns an error if the flags are invalid. Commands that install a hook call Validate.
// The hook command does not call it, because it replaces invalid values instead.
func (f *Flags) Validate() error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: must be positive", f.Timeout)
	}
	if f.Publisher == "" {
		return nil
	}
	return hookclient.CheckURL(f.Publisher, f.Hooks)
}

// Command is one hook command.
type Command struct {
	Path    string // for messages, such as "publisher hook"
	Flags   Flags
	DataDir string
	Tenant  string
	Args    []string // the whole command line
	Names   []string // the command line without flags
	Invalid error    // of the command line
	Parts   hookclient.Parts
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
}

// Run answers one hook payload and returns the exit status. It is 0 even after a panic, because
// agents take other statuses for a denial.
func (c *Command) Run(ctx context.Context) (status int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(c.Err, "%s: internal error: %v\n", c.Path, r)
			status = 0
		}
	}()
	result := hookclient.Answer(ctx, c.In, c.options())
	defer result.Close(ctx)
	if len(result.Reply.Stdout) > 0 {
		if _, err := c.Out.Write(result.Reply.Stdout); err != nil {
			fmt.Fprintf(c.Err, "%s: print the answer: %v\n", c.Path, err)
		}
	}
	fmt.Fprint(c.Err, result.Reply.Stderr)
	for _, p := range result.Problems {
		fmt.Fprintf(c.Err, "%s: %s\n", c.Path, termtext.Printable(p))
	}
	if c.Invalid != nil {
		fmt.Fprintf(c.Err, "See '%s --help'.\n", c.Path)
	}
	return result.Reply.Exit
}

func (c *Command) options() hookclient.Options {
	if c.DataDir == "" {
		c.DataDir = flagenv.DefaultDataDir()
		c.Invalid = errors.Join(c.Invalid, errors.New("--data-dir: empty, want a folder"))
	}
	opts := hookclient.Options{
		DataDir: c.DataDir, Tenant: c.Tenant, Hooks: c.Flags.Hooks, Timeout: c.Flags.Timeout, FailClosed: c.Flags.FailClosed, Unanswered: c.Flags.Unanswered,
		Publisher: c.Flags.Publisher, AskOwn: c.Flags.isSteered, Token: os.Getenv(TokenVariable), Parts: c.Parts, Invalid: c.Invalid,
	}
	if c.Flags.NoRedact {
		opts.Redactor = outbox.NoRedaction
	}
	problem := func(err error) { opts.Problems = append(opts.Problems, err.Error()) }
	names := c.Names
	if c.Invalid != nil {
		// Arguments after an invalid flag were not parsed, so search all arguments.
		problem(c.Invalid)
		opts.FailClosed = opts.FailClosed || slices.Contains(c.Args, "--fail-closed")
		names = slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return !slices.Contains(agents.Names(), arg) })
	}
	if opts.Timeout <= 0 {
		problem(fmt.Errorf("--timeout %v: not positive; %v counts", opts.Timeout, hookclient.DefaultTimeout))
		opts.Timeout = hookclient.DefaultTimeout
	}
	if len(names) == 0 {
		problem(errors.New("no agent is named: " + c.Path + " TOOL"))
		return opts
	}
	tool, err := agents.Named(names[0])
	if err != nil {
		problem(err)
	} else {
		opts.Tool = tool
	}
	if len(names) > 1 {
		opts.Event = names[1]
	}
	if len(names) > 2 {
		problem(fmt.Errorf("%d arguments too many: %s TOOL [EVENT]", len(names)-2, c.Path))
	}
	return opts
}

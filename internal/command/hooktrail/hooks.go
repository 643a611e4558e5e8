package hooktrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/decision"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

const exitDenied = 3

func hooksCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("hooks", "Check, list and try the hooks of a hooks.yaml",
		hooksListCommand(shared), hooksSchemaCommand(), hooksTestCommand(shared), hooksValidateCommand(shared))
}

type validity struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Hooks    int                `json:"hooks"`
	Policies int                `json:"policies"`
	Problems []hookfile.Problem `json:"problems"`
	Warnings []hookfile.Problem `json:"warnings"`
}

func hooksValidateCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a hooks.yaml",
		Long: `Check a hooks.yaml and print all mistakes with file, line and column. No hook runs.
The exit status is 1 if there are mistakes.`,
		Example: `  hooktrail hooks validate hooks.yaml
  hooktrail hooks validate --json hooks.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := validity{File: args[0], Valid: true, Problems: []hookfile.Problem{}, Warnings: []hookfile.Problem{}}
			f, err := hookfile.Load(args[0])
			if err == nil {
				err = f.CheckPrograms()
			}
			invalid, isInvalid := errors.AsType[*hookfile.InvalidError](err)
			switch {
			case isInvalid:
				v.Valid, v.Problems = false, invalid.Problems
			case err != nil:
				return err
			default:
				v.Hooks, v.Warnings = len(f.Hooks), append(v.Warnings, f.Warnings...)
				if f.Policies != nil {
					v.Policies = len(f.Policies.Policies())
				}
			}
			return printValidity(cmd, shared, v)
		},
	}
}

func printValidity(cmd *cobra.Command, shared *cli.Shared, v validity) error {
	err := cli.Print(cmd, shared, v, func(out io.Writer) {
		for _, p := range v.Problems {
			fmt.Fprintln(out, termtext.Printable(p.String()))
		}
		for _, p := range v.Warnings {
			fmt.Fprintf(out, "%s (warning)\n", termtext.Printable(p.String()))
		}
		if v.Valid {
			fmt.Fprintf(out, "%s: %s and %s, all right\n", termtext.Printable(v.File), plural(v.Hooks, "hook"), policies(v.Policies))
		}
	})
	if err == nil && !v.Valid {
		return fmt.Errorf("%s: %s; no hook of the file is used", v.File, plural(len(v.Problems), "problem"))
	}
	return err
}

func policies(n int) string {
	if n == 1 {
		return "1 policy"
	}
	return strconv.Itoa(n) + " policies"
}

func hooksSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of hooks.yaml, for editors",
		Long: `Print the JSON Schema of hooks.yaml. Editors use it to complete keys and mark
mistakes. Name it in the first line of the file:

  # yaml-language-server: $schema=hooks.schema.json`,
		Example: `  hooktrail hooks schema > hooks.schema.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := hookfile.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}

func hooksTestCommand(shared *cli.Shared) *cobra.Command {
	var file, event string
	cmd := &cobra.Command{
		Use:   "test --hooks FILE --event FILE",
		Short: "Show the decision of hooks about an event",
		Long: `Run the hooks of a file on an event. Print the answer of each hook and their common
decision. The event is a document as command hooks receive it, or a CloudEvent. "-"
reads it from stdin. The hooks really run, and nothing is published. The exit status is
3 if the event is denied.`,
		Example: `  echo '{"event":"PreToolUse","tool":"Bash","args":{"command":"rm -rf /"}}' | hooktrail hooks test --hooks hooks.yaml --event -
  hooktrail hooks test --hooks hooks.yaml --event call.json --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := readDocument(cmd.InOrStdin(), event)
			if err != nil {
				return err
			}
			out, err := tryHooks(cmd, shared, file, d)
			if err != nil {
				return err
			}
			err = cli.Print(cmd, shared, out, func(w io.Writer) { writeOutcome(w, &out) })
			if err == nil && out.Verdict == hooks.Deny {
				err = cli.Exit(exitDenied)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "hooks", "", "`file` with the hooks")
	cmd.Flags().StringVar(&event, "event", "", "`file` with the event")
	for _, name := range []string{"hooks", "event"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			return cmd // not reached, because both flags exist
		}
	}
	return cmd
}

func readDocument(stdin io.Reader, path string) (hooks.Document, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(stdin, wire.MaxBytes+1)) }
	}
	data, err := read()
	if err != nil {
		return hooks.Document{}, fmt.Errorf("read event: %w", err)
	}
	d, err := wire.Parse(data)
	if err != nil {
		return hooks.Document{}, fmt.Errorf("event %s: %w", path, err)
	}
	return d, nil
}

func tryHooks(cmd *cobra.Command, shared *cli.Shared, path string, d hooks.Document) (out tried, err error) {
	ctx := cmd.Context()
	f, err := hookfile.Load(path)
	if err == nil {
		err = f.CheckPrograms()
	}
	if err != nil {
		return out, err
	}
	if d.Meta.Tenant == "" {
		d.Meta.Tenant = shared.TenantOrDefault()
	}
	log := shared.Logger(cmd)
	for _, p := range f.Warnings {
		log.WarnContext(ctx, "hooks file is odd", "file", p.File, "line", p.Line, "column", p.Column, "problem", p.Message)
	}
	var opts hookfile.Options
	if f.Asks(hookfile.NATSType) {
		o := service.Broker(cmd, shared, subjects.PublisherRole)
		o.Name = "hooktrail hooks test"
		nc, err := broker.Dial(ctx, o)
		if err != nil {
			log.WarnContext(ctx, "nats hooks cannot ask", "error", err)
		} else {
			defer nc.Close()
			opts.Requester = decision.Client{Conn: nc}
		}
	}
	var late executions
	r := hooks.NewRegistry(hooks.Options{Logger: log, Appender: &late})
	if err := f.Register(r, opts); err != nil {
		return out, err
	}
	out.DocumentOutcome, err = r.DispatchDocument(ctx, d)
	closing, cancel := context.WithTimeout(ctx, hooks.DefaultChainTimeout)
	defer cancel()
	err = errors.Join(err, r.Close(closing))
	out.Async = late.list()
	return out, err
}

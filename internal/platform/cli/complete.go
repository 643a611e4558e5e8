package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// completionTime limits a completion, because the user waits for it.
const completionTime = 300 * time.Millisecond

// Values returns the possible values of a flag or an argument, for completion in the shell. It
// returns none after an error, because completion cannot show errors.
type Values func(ctx context.Context) []string

// Words returns a function that lists fixed values.
func Words(words ...string) Values { return func(context.Context) []string { return words } }

// Described is a value with a text that the shell shows next to it.
type Described struct{ Value, Text string }

// Completion returns a function that completes an argument or a flag in the shell. It leaves out
// values that the shell would have to quote, because agents choose some values and could hide a
// command in them.
func (s *Shared) Completion(values Values) cobra.CompletionFunc {
	return completion(func(ctx context.Context) (list []Described) {
		for _, v := range values(ctx) {
			list = append(list, Described{Value: v})
		}
		return list
	})
}

func completion(values func(context.Context) []Described) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) (fitting []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		listed := make(chan []Described, 1)
		go func() { listed <- values(ctx) }()
		select {
		case <-ctx.Done():
			return nil, cobra.ShellCompDirectiveNoFileComp
		case all := <-listed:
			for _, v := range all {
				if !strings.HasPrefix(v.Value, prefix) || termtext.ShellQuote(v.Value) != v.Value {
					continue
				}
				if v.Text != "" {
					v.Value += "\t" + termtext.Cell(v.Text)
				}
				fitting = append(fitting, v.Value)
			}
			return fitting, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// Argument is like [Shared.Completion] for the only argument of a command.
func (s *Shared) Argument(values Values) cobra.CompletionFunc { return first(s.Completion(values)) }

// DescribedArgument is like [Shared.Argument], but the shell shows a description next to each
// value.
func (s *Shared) DescribedArgument(values func(context.Context) []Described) cobra.CompletionFunc {
	return first(completion(values))
}

func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, prefix)
	}
}

// CompleteFlags completes the values of flags of cmd and its subcommands.
func (s *Shared) CompleteFlags(cmd *cobra.Command, flags map[string]Values) {
	eachCommand(cmd, func(cmd *cobra.Command) {
		for name, values := range flags {
			if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
				continue
			}
			// Ignore the error, because it only means that the command itself completes the flag.
			_ = cmd.RegisterFlagCompletionFunc(name, s.Completion(values))
		}
	})
}

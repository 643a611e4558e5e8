package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

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

// ListCompletion is like [Shared.Completion] for a flag with a list, whose values commas separate.
func (s *Shared) ListCompletion(values Values) cobra.CompletionFunc {
	one := s.Completion(values)
	return func(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := prefix[:strings.LastIndexByte(prefix, ',')+1]
		fitting, directive := one(cmd, args, prefix[len(before):])
		for i := range fitting {
			fitting[i] = before + fitting[i]
		}
		return fitting, directive
	}
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
			flag := cmp.Or(cmd.Flags().Lookup(name), cmd.PersistentFlags().Lookup(name))
			if flag == nil {
				continue
			}
			complete := s.Completion(values)
			if flag.Value.Type() == "stringSlice" {
				complete = s.ListCompletion(values)
			}
			// Ignore the error, because it only means that the command itself completes the flag.
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	})
}

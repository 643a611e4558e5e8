package publisher

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/extended"
	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func hookCommand(shared *cli.Shared) *cobra.Command {
	var flags capture.Flags
	cmd := &cobra.Command{
		Use:   "hook TOOL [EVENT]",
		Short: "Answer a hook of an agent",
		Long:  capture.Long + "\n\nThe program " + capture.HookProgram + " does the same and starts faster.",
		Example: "  publisher hook claude-code < payload.json\n" +
			"  publisher hook claude-code --hooks hooks.yaml --fail-closed < payload.json\n" +
			"  publisher hook copilot-cli preToolUse < payload.json",
		// Agents would take cobra's exit status for a usage error as a denial.
		DisableFlagParsing: true,
		Args:               cobra.ArbitraryArgs,
		PersistentPreRunE:  func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction:  shared.Argument(cli.Words(agents.Names()...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			invalid := parseHookFlags(cmd, args)
			if errors.Is(invalid, pflag.ErrHelp) {
				return cmd.Help()
			}
			flags.FromEnvironment(cmd.Flags())
			c := capture.Command{
				Path: cmd.CommandPath(), Flags: flags, DataDir: shared.DataDir, Tenant: shared.Tenant,
				Args: args, Names: cmd.Flags().Args(), Invalid: invalid, Parts: extended.Parts(),
				In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(),
			}
			return cli.Exit(c.Run(cmd.Context()))
		},
	}
	flags.Register(cmd.Flags())
	return cmd
}

func parseHookFlags(cmd *cobra.Command, args []string) error {
	cmd.DisableFlagParsing = false
	err := cmd.ParseFlags(args)
	if help, _ := cmd.Flags().GetBool("help"); help {
		return pflag.ErrHelp
	}
	if err == nil {
		err = cli.FromEnvironment(cmd)
	}
	return err
}

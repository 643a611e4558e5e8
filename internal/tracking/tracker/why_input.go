package tracker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// whyOfInput explains an issue or an event of what a file comes to. Like whatif
// it tells lines that are no events when it has answered.
func whyOfInput(cmd *cobra.Command, shared *cli.Shared, path, config, id string) (err error) {
	c := rules.DefaultConfig()
	if config != "" {
		if c, err = store.LoadConfig(config); err != nil {
			return err
		}
	}
	folded, err := replay.New(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folded.Close()) }()
	var kind events.Kind // of the event, once it came
	input := replay.Input{
		Path: path, Stdin: cmd.InOrStdin(), Tenant: shared.TenantOrDefault(), Bar: cli.NewProgress(cmd.ErrOrStderr(), "why"),
		Seen: func(e events.Event) {
			if e.ID == id {
				kind = e.Kind()
			}
		},
	}
	bad, err := input.Fold(cmd.Context(), folded)
	if err != nil {
		return err
	}
	x, err := explainInput(folded.Conn(), shared, id)
	if errors.Is(err, ErrNotFound) && kind != "" && !rules.Considered(kind) {
		x, err = Explanation{Subject: id, Decisions: []Reasoning{}, Unconsidered: notConsidered(id, kind)}, nil
	}
	if err == nil {
		err = x.print(cmd, shared)
	}
	return errors.Join(err, bad.Err())
}

// explainInput explains an issue or an event of tenant, or of the one that has it
// if none is named.
func explainInput(conn *sqlite.Conn, shared *cli.Shared, id string) (Explanation, error) {
	tenant := shared.Tenant
	tenants, err := store.Tenants(conn)
	if err != nil {
		return Explanation{}, err
	}
	var (
		found Explanation
		have  []string // the tenants that have it
	)
	for _, name := range tenants {
		x, err := explain(conn, name, id)
		if err != nil {
			return x, err
		}
		if x.empty() {
			continue
		}
		if have = append(have, name); name == shared.TenantOrDefault() {
			return x, nil
		}
		found = x
	}
	switch {
	case tenant == "" && len(have) == 1:
		return found, nil
	case tenant == "" && len(have) > 1:
		return found, cli.Usage("%s is in several tenants, say which with --tenant: %s", cli.OneLine(id), names(have))
	case len(have) > 0:
		return found, fmt.Errorf("%w: %s in tenant %s, but in %s", ErrNotFound, cli.OneLine(id), cli.OneLine(tenant), names(have))
	case len(tenants) == 0:
		return found, fmt.Errorf("%w: %s: no event of the input is decided on; %s", ErrNotFound, cli.OneLine(id), whatIsConsidered)
	}
	return found, fmt.Errorf("%w: %s, nor an event of that id that is decided on, in any tenant of the input: %s; %s",
		ErrNotFound, cli.OneLine(id), names(tenants), whatIsConsidered)
}

// mostNames is how many names are told.
const mostNames = 10

// names lists names for people: the first of them.
func names(list []string) string {
	told := make([]string, 0, mostNames)
	for _, name := range list[:min(len(list), mostNames)] {
		told = append(told, cli.Cell(name))
	}
	text := strings.Join(told, ", ")
	if more := len(list) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

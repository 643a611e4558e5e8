package tracker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

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
	var kind events.Kind // kind of the event with this id. Empty if the file lacks the event
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
	if errors.Is(err, tracker.ErrNotFound) && kind != "" && !rules.Considered(kind) {
		x, err = tracker.Explanation{Subject: id, Decisions: []tracker.Reasoning{}, Unconsidered: tracker.NotConsidered(id, kind)}, nil
	}
	if err == nil {
		err = printExplanation(cmd, shared, x)
	}
	return errors.Join(err, bad.Err())
}

func explainInput(conn *sqlite.Conn, shared *cli.Shared, id string) (tracker.Explanation, error) {
	tenant := shared.Tenant
	tenants, err := store.Tenants(conn)
	if err != nil {
		return tracker.Explanation{}, err
	}
	var (
		found tracker.Explanation
		have  []string // tenants with this id
	)
	for _, name := range tenants {
		x, err := tracker.Explain(conn, name, id)
		if err != nil {
			return x, err
		}
		if x.IsEmpty() {
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
		return found, cli.Usage("%s is in several tenants, name one with --tenant: %s", termtext.OneLine(id), names(have))
	case len(have) > 0:
		return found, fmt.Errorf("%w: %s in tenant %s, but in %s", tracker.ErrNotFound, termtext.OneLine(id), termtext.OneLine(tenant), names(have))
	case len(tenants) == 0:
		return found, fmt.Errorf("%w: %s: the tracker decides on no event of the input; %s", tracker.ErrNotFound, termtext.OneLine(id), tracker.ConsideredKinds)
	}
	return found, fmt.Errorf("%w: %s, and no decided event with that id, in any tenant of the input: %s; %s",
		tracker.ErrNotFound, termtext.OneLine(id), names(tenants), tracker.ConsideredKinds)
}

const maxNames = 10

func names(list []string) string {
	shown := make([]string, 0, maxNames)
	for _, name := range list[:min(len(list), maxNames)] {
		shown = append(shown, termtext.Cell(name))
	}
	text := strings.Join(shown, ", ")
	if more := len(list) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

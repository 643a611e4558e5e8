package hooks

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Class is what the hooks of a point can do.
type Class string

// The classes.
const (
	DecisionClass     Class = "decision"     // allow, deny, ask, or patch the input
	TransformClass    Class = "transform"    // a value flows through the chain
	NotificationClass Class = "notification" // told, cannot change anything
)

// Point describes a hook point.
type Point struct {
	Kind    events.Kind
	Class   Class
	Aliases []string // names that configuration files have for it: "PreToolUse"
	Async   bool     // its hooks can be asynchronous
}

// Points returns the 26 points, in the order of the documentation.
func Points() []Point {
	list := make([]Point, len(places))
	for i := range places {
		list[i] = places[i].describe()
	}
	return list
}

// PointNamed returns the point with a kind or alias.
func PointNamed(name string) (Point, bool) {
	for i := range places {
		if string(places[i].kind) == name || slices.Contains(places[i].aliases, name) {
			return places[i].describe(), true
		}
	}
	return Point{}, false
}

// place is what a point is regardless of its types.
type place struct {
	kind    events.Kind
	class   Class
	aliases []string
	async   bool
	ends    bool // it tells success from failure
	block   bool // its hooks block when they fail, unless told otherwise
	mild    bool // there is nothing to block
	index   int  // in places, and of its chain
}

func (p *place) describe() Point {
	return Point{Kind: p.kind, Class: p.class, Aliases: slices.Clone(p.aliases), Async: p.async}
}

// places are the points, in the order of the documentation.
var places = numbered([pointCount]place{
	{kind: events.ToolBefore, class: DecisionClass, aliases: []string{"PreToolUse"}},
	{kind: events.PromptSubmit, class: DecisionClass, aliases: []string{"PromptSubmit"}},
	{kind: events.SessionStart, class: DecisionClass, aliases: []string{"SessionStart"}, mild: true},
	{kind: events.SubagentStart, class: DecisionClass},
	{kind: events.CompactBefore, class: DecisionClass},
	{kind: events.Error, class: DecisionClass, aliases: []string{"Error"}},
	{kind: events.Approval, class: DecisionClass, aliases: []string{"on_approval_request"}},
	{kind: events.StepBefore, class: DecisionClass},
	{kind: events.MessagesFilter, class: TransformClass},
	{kind: events.LLMRequest, class: TransformClass},
	{kind: events.MessageCreate, class: TransformClass, block: true},
	{kind: events.MessageUpdate, class: TransformClass, block: true},
	{kind: events.ToolResult, class: TransformClass, aliases: []string{"PostToolUse"}, async: true, ends: true},
	{kind: events.ToolResultStore, class: TransformClass, block: true},
	{kind: events.StepOutput, class: TransformClass, async: true},
	{kind: events.RunStarted, class: NotificationClass, async: true, mild: true},
	{kind: events.StepFinished, class: NotificationClass, async: true, ends: true, mild: true},
	{kind: events.RunFinished, class: NotificationClass, async: true, ends: true, mild: true},
	{kind: events.SessionEnded, class: NotificationClass, aliases: []string{"SessionStop"}, async: true, mild: true},
	{kind: events.SubagentStopped, class: NotificationClass, async: true, ends: true, mild: true},
	{kind: events.MessageCreated, class: NotificationClass, async: true, mild: true},
	{kind: events.MessageUpdated, class: NotificationClass, async: true, mild: true},
	{kind: events.ResponseCompleted, class: NotificationClass, aliases: []string{"ResponseComplete"}, async: true, mild: true},
	{kind: events.CheckpointCreated, class: NotificationClass, aliases: []string{"Checkpoint"}, async: true, mild: true},
	{kind: events.ModelSwitched, class: NotificationClass, aliases: []string{"ModelSwitch"}, async: true, mild: true},
	{kind: events.MemoryUpdated, class: NotificationClass, aliases: []string{"MemoryUpdate"}, async: true, mild: true},
})

const pointCount = 26

func numbered(list [pointCount]place) [pointCount]place {
	for i := range list {
		list[i].index = i
	}
	return list
}

// at returns the place of kind.
func at(kind events.Kind) *place {
	for i := range places {
		if places[i].kind == kind {
			return &places[i]
		}
	}
	return nil
}

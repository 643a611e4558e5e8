package hooks

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Class describes how the hooks of a point can influence a run.
type Class string

// The classes.
const (
	DecisionClass     Class = "decision"     // hooks decide about an action or patch its input
	TransformClass    Class = "transform"    // hooks change a value
	NotificationClass Class = "notification" // hooks observe only
)

// Point describes a hook point.
type Point struct {
	Kind    events.Kind
	Class   Class
	Aliases []string // other names in configuration files, such as "PreToolUse"
	Async   bool     // whether hooks can be asynchronous
	Blocks  bool     // whether OnFailure(Block) has an effect
}

// Points returns all 26 hook points.
func Points() []Point {
	list := make([]Point, len(pointTable))
	for i := range pointTable {
		list[i] = pointTable[i].describe()
	}
	return list
}

// PointNamed returns the point whose kind or alias is name, if there is one.
func PointNamed(name string) (Point, bool) {
	for i := range pointTable {
		if string(pointTable[i].kind) == name || slices.Contains(pointTable[i].aliases, name) {
			return pointTable[i].describe(), true
		}
	}
	return Point{}, false
}

type pointInfo struct {
	kind           events.Kind
	class          Class
	aliases        []string
	tool           bool // the point is about a tool call
	async          bool
	reportsSuccess bool // events of the point distinguish success from failure
	blocks         bool // the default failure mode is Block
	cannotBlock    bool // Block acts as Warn
	index          int  // index in pointTable and Registry.chains
}

func (p *pointInfo) describe() Point {
	return Point{Kind: p.kind, Class: p.class, Aliases: slices.Clone(p.aliases), Async: p.async, Blocks: !p.cannotBlock}
}

var pointTable = numbered([pointCount]pointInfo{
	{kind: events.ToolBefore, class: DecisionClass, tool: true, aliases: []string{"PreToolUse"}},
	{kind: events.PromptSubmit, class: DecisionClass, aliases: []string{"PromptSubmit"}},
	{kind: events.SessionStart, class: DecisionClass, aliases: []string{"SessionStart"}, cannotBlock: true},
	{kind: events.SubagentStart, class: DecisionClass},
	{kind: events.CompactBefore, class: DecisionClass},
	{kind: events.Error, class: DecisionClass, aliases: []string{"Error"}},
	{kind: events.Approval, class: DecisionClass, tool: true, aliases: []string{"on_approval_request"}},
	{kind: events.StepBefore, class: DecisionClass},
	{kind: events.MessagesFilter, class: TransformClass},
	{kind: events.LLMRequest, class: TransformClass},
	{kind: events.MessageCreate, class: TransformClass, blocks: true},
	{kind: events.MessageUpdate, class: TransformClass, blocks: true},
	{kind: events.ToolResult, class: TransformClass, tool: true, aliases: []string{"PostToolUse"}, async: true, reportsSuccess: true},
	{kind: events.ToolResultStore, class: TransformClass, tool: true, blocks: true},
	{kind: events.StepOutput, class: TransformClass, async: true},
	{kind: events.RunStarted, class: NotificationClass, async: true, cannotBlock: true},
	{kind: events.StepFinished, class: NotificationClass, async: true, reportsSuccess: true, cannotBlock: true},
	{kind: events.RunFinished, class: NotificationClass, async: true, reportsSuccess: true, cannotBlock: true},
	{kind: events.SessionEnded, class: NotificationClass, aliases: []string{"SessionStop"}, async: true, cannotBlock: true},
	{kind: events.SubagentStopped, class: NotificationClass, async: true, reportsSuccess: true, cannotBlock: true},
	{kind: events.MessageCreated, class: NotificationClass, async: true, cannotBlock: true},
	{kind: events.MessageUpdated, class: NotificationClass, async: true, cannotBlock: true},
	{kind: events.ResponseCompleted, class: NotificationClass, aliases: []string{"ResponseComplete"}, async: true, cannotBlock: true},
	{kind: events.CheckpointCreated, class: NotificationClass, aliases: []string{"Checkpoint"}, async: true, cannotBlock: true},
	{kind: events.ModelSwitched, class: NotificationClass, aliases: []string{"ModelSwitch"}, async: true, cannotBlock: true},
	{kind: events.MemoryUpdated, class: NotificationClass, aliases: []string{"MemoryUpdate"}, async: true, cannotBlock: true},
})

const pointCount = 26

func numbered(list [pointCount]pointInfo) [pointCount]pointInfo {
	for i := range list {
		list[i].index = i
	}
	return list
}

func infoOf(kind events.Kind) *pointInfo {
	for i := range pointTable {
		if pointTable[i].kind == kind {
			return &pointTable[i]
		}
	}
	return nil
}

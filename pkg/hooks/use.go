package hooks

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Use registers every hook method of provider with opts, and returns the ids of the hooks in the
// order of [Points]. The interfaces from [PreToolUser] to [MemoryFollower] define the hook methods.
// A [Registrar] registers its hooks itself.
//
// Use registers all hooks or none. It fails if provider has no hook method, if a hook method has a
// wrong type or needs a pointer, or if a point does not allow an option.
func (r *Registry) Use(provider any, opts ...Option) ([]ID, error) {
	if err := checkProvider(provider); err != nil {
		return nil, fmt.Errorf("use %T: %w", provider, err)
	}
	if p, ok := provider.(Registrar); ok {
		return p.Register(r, opts...)
	}
	var defaults []Option
	if p, ok := provider.(Named); ok {
		defaults = append(defaults, Name(p.Name()))
	}
	if p, ok := provider.(Enabler); ok {
		defaults = append(defaults, Enabled(p.IsEnabled))
	}
	opts = append(defaults, opts...)
	var ids []ID
	for _, m := range hookMethods {
		id, found, err := m.register(r, provider, opts)
		if err != nil {
			for _, id := range ids {
				r.Off(id)
			}
			return nil, fmt.Errorf("use %T: %w", provider, err)
		}
		if found {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("use %T: no method of a hook point", provider)
	}
	return ids, nil
}

type providerMethod struct {
	name     string
	in       reflect.Type
	register func(r *Registry, provider any, opts []Option) (id ID, found bool, err error)
}

func hookMethod[I any](register func(*Registry, I, []Option) (ID, error)) providerMethod {
	in := reflect.TypeFor[I]()
	return providerMethod{in.Method(0).Name, in, func(r *Registry, provider any, opts []Option) (ID, bool, error) {
		p, found := provider.(I)
		if !found {
			return "", false, nil
		}
		id, err := register(r, p, opts)
		return id, true, err
	}}
}

var hookMethods = [pointCount]providerMethod{
	decisionMethod(ToolBefore, PreToolUser.PreToolUse),
	decisionMethod(PromptSubmit, PromptSubmitter.PromptSubmitted),
	decisionMethod(SessionStart, SessionStarter.SessionStart),
	decisionMethod(SubagentStart, SubagentStarter.SubagentStart),
	decisionMethod(CompactBefore, PreCompacter.PreCompact),
	hookMethod(func(r *Registry, p ErrorHandler, opts []Option) (ID, error) {
		return Error.Register(r, p.ErrorOccurred, opts...)
	}),
	decisionMethod(Approval, Approver.ApprovalRequested),
	decisionMethod(StepBefore, StepPreparer.BeforeStep),
	transformMethod(MessagesFilter, MessageFilter.FilterMessages),
	transformMethod(LLMRequest, LLMRequestFilter.FilterLLMRequest),
	transformMethod(MessageCreate, MessageCreator.BeforeCreateMessage),
	transformMethod(MessageUpdate, MessageUpdater.BeforeUpdateMessage),
	transformMethod(ToolResult, PostToolUser.PostToolUse),
	transformMethod(ToolResultStore, ToolResultStorer.BeforeStoreToolResult),
	transformMethod(StepOutput, StepOutputFilter.FilterStepOutput),
	notificationMethod(RunStarted, RunStarter.RunStart),
	notificationMethod(StepFinished, StepFollower.AfterStep),
	notificationMethod(RunFinished, RunEnder.RunEnd),
	notificationMethod(SessionEnded, SessionEnder.SessionEnd),
	notificationMethod(SubagentStopped, SubagentStopper.SubagentStop),
	notificationMethod(MessageCreated, MessageCreateFollower.AfterCreateMessage),
	notificationMethod(MessageUpdated, MessageUpdateFollower.AfterUpdateMessage),
	notificationMethod(ResponseCompleted, ResponseFollower.AfterResponse),
	notificationMethod(CheckpointCreated, CheckpointFollower.AfterCheckpoint),
	notificationMethod(ModelSwitched, ModelFollower.AfterModelSwitch),
	notificationMethod(MemoryUpdated, MemoryFollower.AfterMemoryUpdate),
}

func decisionMethod[I, In, P any](
	point *DecisionPoint[In, P], method func(I, context.Context, Meta, In) (*Decision[P], error),
) providerMethod {
	return hookMethod(func(r *Registry, p I, opts []Option) (ID, error) {
		return point.Register(r, func(ctx context.Context, m Meta, in In) (*Decision[P], error) { return method(p, ctx, m, in) }, opts...)
	})
}

func transformMethod[I, S, V any](
	point *TransformPoint[S, V], method func(I, context.Context, Meta, S, V) (*V, error),
) providerMethod {
	return hookMethod(func(r *Registry, p I, opts []Option) (ID, error) {
		return point.Register(r, func(ctx context.Context, m Meta, s S, v V) (*V, error) { return method(p, ctx, m, s, v) }, opts...)
	})
}

func notificationMethod[I, E any](point *NotificationPoint[E], method func(I, context.Context, Meta, E) error) providerMethod {
	return hookMethod(func(r *Registry, p I, opts []Option) (ID, error) {
		return point.Register(r, func(ctx context.Context, m Meta, e E) error { return method(p, ctx, m, e) }, opts...)
	})
}

func checkProvider(provider any) error {
	v := reflect.ValueOf(provider)
	if !v.IsValid() {
		return errors.New("no provider")
	}
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return errors.New("nil pointer")
	}
	wanted := []reflect.Type{reflect.TypeFor[Named](), reflect.TypeFor[Enabler]()}
	for _, m := range hookMethods {
		wanted = append(wanted, m.in)
	}
	if m, ok := methodOf(v.Type(), "Register"); ok && m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[*Registry]() {
		wanted = append(wanted, reflect.TypeFor[Registrar]())
	}
	var found []error
	for _, in := range wanted {
		found = append(found, checkMethod(v.Type(), in))
	}
	return errors.Join(found...)
}

func checkMethod(provider, in reflect.Type) error {
	want := in.Method(0)
	m, ok := methodOf(provider, want.Name)
	if !ok || provider.Implements(in) {
		return nil
	}
	if !reflect.PointerTo(provider).Implements(in) {
		return fmt.Errorf("method %s has the type %s, want %s", want.Name, withoutReceiver(m.Type), want.Type)
	}
	return fmt.Errorf("method %s has a pointer receiver: pass a pointer", want.Name)
}

func methodOf(t reflect.Type, name string) (reflect.Method, bool) {
	if m, ok := t.MethodByName(name); ok || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return m, ok
	}
	return reflect.PointerTo(t).MethodByName(name)
}

func withoutReceiver(method reflect.Type) reflect.Type {
	var in, out []reflect.Type
	for i := 1; i < method.NumIn(); i++ {
		in = append(in, method.In(i))
	}
	for t := range method.Outs() {
		out = append(out, t)
	}
	return reflect.FuncOf(in, out, method.IsVariadic())
}

package hooks

import (
	"errors"
	"fmt"
	"reflect"
)

// Use registers every hook method of provider with the options, and returns the
// ids in the order of [Points]. The methods are those of the interfaces from
// [PreToolUser] to [MemoryFollower]. A [Registrar] registers itself.
//
// Use registers all hooks or none. It fails if provider has no hook method, if a
// method of one of these names has another type, if provider is a value whose
// hook methods need a pointer, or if an option does not fit one of the points.
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

// providerMethod is a method that Use looks for.
type providerMethod struct {
	name string
	in   reflect.Type // the interface that consists of it
	// register registers the method if provider has it, and reports whether it does.
	register func(r *Registry, provider any, opts []Option) (id ID, found bool, err error)
}

// hookMethod returns the method of interface I.
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

// hookMethods are the hook methods of providers, in the order of their points.
var hookMethods = [pointCount]providerMethod{
	hookMethod(func(r *Registry, p PreToolUser, o []Option) (ID, error) {
		return ToolBefore.Register(r, p.PreToolUse, o...)
	}),
	hookMethod(func(r *Registry, p PromptSubmitter, o []Option) (ID, error) {
		return PromptSubmit.Register(r, p.PromptSubmitted, o...)
	}),
	hookMethod(func(r *Registry, p SessionStarter, o []Option) (ID, error) {
		return SessionStart.Register(r, p.SessionStart, o...)
	}),
	hookMethod(func(r *Registry, p SubagentStarter, o []Option) (ID, error) {
		return SubagentStart.Register(r, p.SubagentStart, o...)
	}),
	hookMethod(func(r *Registry, p PreCompacter, o []Option) (ID, error) {
		return CompactBefore.Register(r, p.PreCompact, o...)
	}),
	hookMethod(func(r *Registry, p ErrorHandler, o []Option) (ID, error) {
		return Error.Register(r, p.ErrorOccurred, o...)
	}),
	hookMethod(func(r *Registry, p Approver, o []Option) (ID, error) {
		return Approval.Register(r, p.ApprovalRequested, o...)
	}),
	hookMethod(func(r *Registry, p StepPreparer, o []Option) (ID, error) {
		return StepBefore.Register(r, p.BeforeStep, o...)
	}),
	hookMethod(func(r *Registry, p MessageFilter, o []Option) (ID, error) {
		return MessagesFilter.Register(r, p.FilterMessages, o...)
	}),
	hookMethod(func(r *Registry, p LLMRequestFilter, o []Option) (ID, error) {
		return LLMRequest.Register(r, p.FilterLLMRequest, o...)
	}),
	hookMethod(func(r *Registry, p MessageCreator, o []Option) (ID, error) {
		return MessageCreate.Register(r, p.BeforeCreateMessage, o...)
	}),
	hookMethod(func(r *Registry, p MessageUpdater, o []Option) (ID, error) {
		return MessageUpdate.Register(r, p.BeforeUpdateMessage, o...)
	}),
	hookMethod(func(r *Registry, p PostToolUser, o []Option) (ID, error) {
		return ToolResult.Register(r, p.PostToolUse, o...)
	}),
	hookMethod(func(r *Registry, p ToolResultStorer, o []Option) (ID, error) {
		return ToolResultStore.Register(r, p.BeforeStoreToolResult, o...)
	}),
	hookMethod(func(r *Registry, p StepOutputFilter, o []Option) (ID, error) {
		return StepOutput.Register(r, p.FilterStepOutput, o...)
	}),
	hookMethod(func(r *Registry, p RunStarter, o []Option) (ID, error) {
		return RunStarted.Register(r, p.RunStart, o...)
	}),
	hookMethod(func(r *Registry, p StepFollower, o []Option) (ID, error) {
		return StepFinished.Register(r, p.AfterStep, o...)
	}),
	hookMethod(func(r *Registry, p RunEnder, o []Option) (ID, error) { return RunFinished.Register(r, p.RunEnd, o...) }),
	hookMethod(func(r *Registry, p SessionEnder, o []Option) (ID, error) {
		return SessionEnded.Register(r, p.SessionEnd, o...)
	}),
	hookMethod(func(r *Registry, p SubagentStopper, o []Option) (ID, error) {
		return SubagentStopped.Register(r, p.SubagentStop, o...)
	}),
	hookMethod(func(r *Registry, p MessageCreateFollower, o []Option) (ID, error) {
		return MessageCreated.Register(r, p.AfterCreateMessage, o...)
	}),
	hookMethod(func(r *Registry, p MessageUpdateFollower, o []Option) (ID, error) {
		return MessageUpdated.Register(r, p.AfterUpdateMessage, o...)
	}),
	hookMethod(func(r *Registry, p ResponseFollower, o []Option) (ID, error) {
		return ResponseCompleted.Register(r, p.AfterResponse, o...)
	}),
	hookMethod(func(r *Registry, p CheckpointFollower, o []Option) (ID, error) {
		return CheckpointCreated.Register(r, p.AfterCheckpoint, o...)
	}),
	hookMethod(func(r *Registry, p ModelFollower, o []Option) (ID, error) {
		return ModelSwitched.Register(r, p.AfterModelSwitch, o...)
	}),
	hookMethod(func(r *Registry, p MemoryFollower, o []Option) (ID, error) {
		return MemoryUpdated.Register(r, p.AfterMemoryUpdate, o...)
	}),
}

// checkProvider reports why Use would ignore a method of provider.
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

// checkMethod reports why a type has the method of an interface, but does not
// implement it.
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

// methodOf returns the method of a type, or of the pointer to it.
func methodOf(t reflect.Type, name string) (reflect.Method, bool) {
	if m, ok := t.MethodByName(name); ok || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return m, ok
	}
	return reflect.PointerTo(t).MethodByName(name)
}

// withoutReceiver returns the type of a method as an interface shows it.
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

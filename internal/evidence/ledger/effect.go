package ledger

// Effect says what an order did where it came in the stream.
type Effect string

// The effects.
const (
	EffectDone Effect = "done" // it was carried out
	EffectHeld Effect = "held" // a hold stood in its way: nothing was destroyed
	EffectVoid Effect = "void" // it lifts a hold that is not in force
)

// Obeyed is an order that came, and what it did.
type Obeyed struct {
	Leaf    int64 // of the event that brought it
	Order   Order
	Effect  Effect
	Removed int64 // records whose bytes it destroyed
}

// Command hooktrail-capture answers a hook of an agent for hooktrail-hook, and records it if no
// publisher does.
package main

import "github.com/hooktrail/hooktrail/internal/command/capture"

func main() { capture.Main() }

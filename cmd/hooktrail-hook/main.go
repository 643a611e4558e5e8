// Command hooktrail-hook answers a hook of an agent, as publisher hook does, and starts faster.
package main

import "github.com/hooktrail/hooktrail/internal/command/hook"

func main() { hook.Main() }

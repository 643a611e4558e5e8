"""Prints calls, outcomes, end, tokens and stated cost of recorded runs, one line per file.

It follows docs/import.md and shares no code with the import.
Usage: outcomes.py FORMAT FILE...
"""

import json
import re
import sys


class Run:
    def __init__(self):
        self.status = "unknown"
        self.calls = {}  # state by id; None without a result
        self.cost = 0.0
        self.tokens = {"input": 0, "output": 0, "cache_creation": 0, "cache_read": 0}

    def spend(self, **tokens):
        for name, n in tokens.items():
            self.tokens[name] += n or 0

    def report(self):
        def count(state):
            return sum(1 for s in self.calls.values() if s == state)

        return {
            "Status": self.status, "Calls": len(self.calls), "Failed": count("error"), "Denied": count("denied"),
            "Interrupted": count("interrupted"), "Unanswered": count(None), "Cost": self.cost, "Tokens": self.tokens,
        }


def texts(value):
    """Returns all strings below a JSON value, joined by line feeds."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(texts(v) for v in value) if isinstance(value, list) else ""


def gemini(doc):
    run = Run()
    for message in doc["messages"]:
        if message["type"] == "info" and "Request cancelled." in texts(message.get("content")):
            run.status = "interrupted"
        if message["type"] == "user":
            run.status = "unknown"
        if message["type"] != "gemini":
            continue
        run.status = "completed" if texts(message.get("content")).strip() else "unknown"
        for call in message.get("toolCalls") or []:
            run.calls[call["id"]] = gemini_result(call)
            run.status = "unknown"
        used = message.get("tokens") or {}
        cached = used.get("cached", 0)
        run.spend(input=used.get("input", 0) - cached + used.get("tool", 0), output=used.get("output", 0) + used.get("thoughts", 0), cache_read=cached)
    return run


def gemini_result(call):
    if call["status"] == "cancelled":
        refused = re.search("User did not allow tool call|User denied execution", texts(call.get("result")))
        return "denied" if refused else "interrupted"
    if call["status"] not in ("success", "error"):
        return None
    code = re.search(r"^Exit Code: (\d+)$", texts(call.get("result")), re.M)
    failed = call["name"] == "run_shell_command" and code and code.group(1) != "0"
    return "error" if failed or call["status"] == "error" else "success"


def openhands(doc):
    run = Run()
    last = None
    for number, item in enumerate(doc["history"]):
        action, observation = item.get("action"), item.get("observation")
        if action and item.get("source", "agent") == "agent" and action not in ("message", "system", "recall"):
            last = str(item.get("id", number))
            run.calls[last] = None
        if observation:
            cause = str(item.get("cause", last))
            if cause in run.calls:
                run.calls[cause] = openhands_result(item)
        if action == "finish":
            run.status = "completed"
    if doc.get("error"):
        run.status = "failed"
    metrics = doc.get("metrics") or {}
    run.cost = metrics.get("accumulated_cost") or 0.0
    used = metrics.get("accumulated_token_usage") or {}
    read, written = used.get("cache_read_tokens", 0), used.get("cache_write_tokens", 0)
    run.spend(input=used.get("prompt_tokens", 0) - read - written, output=used.get("completion_tokens", 0), cache_read=read, cache_creation=written)
    return run


def openhands_result(item):
    kind, content = item["observation"], texts(item.get("content"))
    extras = item.get("extras") or {}
    code = (extras.get("metadata") or {}).get("exit_code", extras.get("exit_code"))
    if kind == "user_rejected":
        return "denied"
    if kind == "error":
        return "error"
    if kind in ("edit", "read", "write"):
        return "error" if content.startswith(("ERROR:", "[Your proposed edit", "Your proposed edit")) else "success"
    if kind == "run_ipython":
        return "error" if content.lstrip("[\n ").startswith("Your proposed edit has introduced new syntax error(s).") else "success"
    return "error" if code not in (None, 0, -1) or item.get("success") is False else "success"


def swe_agent(doc):
    run = Run()
    asked = 0
    messages = doc if isinstance(doc, list) else doc["messages"]
    for number, message in enumerate(messages):
        commands = re.findall(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n```", texts(message.get("content")), re.S)
        if message["role"] == "assistant" and len(commands) == 1:
            asked = number
            run.calls[asked] = None
            submits = re.search(r"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT|MINI_SWE_AGENT_FINAL_OUTPUT", commands[0])
            run.status = "completed" if submits else "unknown"
        elif message["role"] == "user" and asked in run.calls:
            code = re.search(r"<returncode>(-?\d+)</returncode>", texts(message.get("content")))
            run.calls[asked] = "error" if code and code.group(1) != "0" else "success"
            asked = -1
    info = {} if isinstance(doc, list) else doc.get("info", {})
    if info.get("exit_status"):
        run.status = "completed" if info["exit_status"].lower() == "submitted" else "failed"
    run.cost = (info.get("model_stats") or {}).get("instance_cost") or 0.0
    return run


LOCAL = ("<local-command-", "<command-name>", "<bash-")  # the agent runs these without the model


class Session(Run):
    def __init__(self):
        super().__init__()
        self.names, self.hooked, self.spent = {}, set(), {}

    def add_up(self):
        for used in self.spent.values():
            self.spend(**dict(zip(self.tokens, used)))
        return self


def claude(lines):
    runs = {}
    for line in lines:
        session = line.get("sessionId")
        if not session:
            continue
        run = runs.setdefault((session, line.get("agentId")), Session())
        data = line.get("data") or {}
        if line.get("type") == "progress" and data.get("hookEvent") == "PreToolUse":
            run.hooked.add(line.get("toolUseID"))
        if line.get("type") == "system" and line.get("subtype") in ("stop_hook_summary", "turn_duration"):
            run.status = "completed"
        message = line.get("message") or {}
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if line.get("type") == "assistant":
            claude_answer(run, message, blocks)
        if line.get("type") == "user":
            claude_user(run, line, blocks)
    return merged(run.add_up() for run in runs.values())


def claude_answer(run, message, blocks):
    used = message.get("usage") or {}
    run.spent[message.get("id")] = [used.get(k) or 0 for k in ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    for block in blocks:
        if block["type"] == "tool_use" and block["id"] not in run.calls:
            run.calls[block["id"]] = None
            run.names[block["id"]] = block["name"]
        if block["type"] in ("text", "tool_use"):
            run.status = "completed" if block["type"] == "text" and block["text"].strip() else "unknown"


def claude_user(run, line, blocks):
    for block in blocks:
        call = block.get("tool_use_id")
        if block["type"] == "tool_result":
            run.status = "unknown"
            if call in run.calls and run.calls[call] is None:
                run.calls[call] = claude_result(run, line, block)
        elif block["type"] == "text" and not line.get("isMeta") and not block["text"].startswith(LOCAL):
            run.status = "interrupted" if block["text"].startswith("[Request interrupted by user") else "unknown"


def claude_result(run, line, block):
    result, text, name = line.get("toolUseResult"), texts_of(block.get("content")), run.names[block["tool_use_id"]]
    if isinstance(result, dict) and result.get("interrupted") is True:
        return "interrupted"
    if not block.get("is_error"):
        return "success"
    if text.startswith("Exit code ") or name.startswith("mcp__"):
        return "error"
    if text.startswith(("[Request interrupted", "[Tool call ", "Command aborted before execution")):
        return "interrupted"
    if text.startswith(("The user doesn't want to", "User rejected", "The agent proposed a plan that was rejected", "Permission to ", "PreToolUse:", "Hook PreToolUse:")):
        return "denied"
    if re.match(r"[^\n]*(was blocked|needs approval|requires approval)", text):
        return "denied"
    own = ("Exit code ", "<tool_use_error>", "Command timed out", "ENOENT", "EACCES", "spawn ", "Error", "InputValidationError")
    return "denied" if name == "Bash" and block["tool_use_id"] in run.hooked and not text.startswith(own) else "error"


def texts_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def merged(runs):
    """Sums runs. Their status is empty if they ended differently."""
    total = Run()
    states = set()
    for number, run in enumerate(runs):
        states.add(run.status)
        total.calls.update({(number, call): state for call, state in run.calls.items()})
        total.spend(**run.tokens)
    total.status = states.pop() if len(states) == 1 else ""
    return total


def codex(lines):
    """Reads a rollout, or the output of `codex exec --json`, which has no payloads."""
    run, turns = Run(), 0
    for number, line in enumerate(lines):
        item = line.get("payload") or line.get("item") or {}
        kind, key = item.get("type") or line.get("type"), item.get("call_id") or number
        if line.get("type") in ("item.started", "item.completed"):
            codex_item(run, turns, line["type"], item)
        elif kind in ("task_started", "turn.started"):
            run.status, turns = "unknown", turns + 1
        elif kind in ("task_complete", "turn.completed"):
            run.status = "completed"
        elif kind in ("turn_aborted", "turn.failed"):
            run.status = "interrupted" if kind == "turn_aborted" else "failed"
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            run.calls.setdefault(key, None)
        elif kind == "web_search_call":
            run.calls[key] = {"failed": "error", "in_progress": None, "searching": None}.get(item.get("status"), "success")
        elif kind in ("function_call_output", "custom_tool_call_output") and key in run.calls:
            run.calls[key] = codex_result(texts(item.get("output")))
        used = (item.get("info") or {}).get("total_token_usage") or line.get("usage")
        if used:  # totals of the session so far
            run.tokens = {"input": used["input_tokens"] - used["cached_input_tokens"], "output": used["output_tokens"], "cache_creation": 0, "cache_read": used["cached_input_tokens"]}
    return run


def codex_item(run, turn, event, item):
    if item["type"] not in ("command_execution", "file_change", "web_search", "mcp_tool_call", "collab_tool_call"):
        return
    key = (turn, item["id"])
    run.calls.setdefault(key, None)
    if event == "item.completed":
        failed = item.get("status") == "failed" or item.get("exit_code") not in (None, 0)
        run.calls[key] = "denied" if item.get("status") == "declined" else "error" if failed else "success"


def codex_result(text):
    head = text.partition("\nOutput:\n")[0]
    code = re.search(r"^(?:Exit code:|Process exited with code) (-?\d+)$", head, re.M) or re.search(r'"exit_code": ?(-?\d+)', text)
    if code:
        return "success" if code.group(1) == "0" else "error"
    if text.startswith("aborted"):
        return "interrupted"
    if re.match(r"(exec command |command |patch )?rejected by user|patch rejected|approval policy is |Command denied by sandbox", text):
        return "denied"
    return "error" if re.match(r"exec_command failed|write_stdin failed|apply_patch verification failed|failed ", text) else "success"


def amplifier(lines):
    runs = {}
    for line in lines:
        session, event, data = line.get("session_id"), line.get("event"), line.get("data") or line
        if not session:
            continue
        run = runs.setdefault(session, Run())
        key = data.get("tool_call_id") or (data.get("tool_name"), len(run.calls))
        if event == "tool:pre":
            run.calls[key] = None
        elif event in ("tool:post", "tool:error"):
            run.calls[key] = "success" if event == "tool:post" else "error"
        elif event in ("session:start", "session:end"):
            run.status = "completed" if event == "session:end" else "unknown"
        used = data.get("usage") or {}
        run.spend(input=used.get("input_tokens", used.get("input")), output=used.get("output_tokens", used.get("output")))
    return merged(runs.values())


def hook_log(payloads):
    """Reads payloads of Claude Code. Logs of older versions have no ids of calls."""
    runs = {}
    for number, hook in enumerate(payloads):
        name, session = hook["hook_event_name"], runs.setdefault((hook["session_id"], None), Run())
        own = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop")
        run = runs.setdefault((hook["session_id"], hook.get("agent_id")), Run()) if name in own else session
        call = hook.get("tool_use_id", number)
        if name == "PreToolUse":
            run.calls.setdefault(call, None)
        if name in ("PostToolUse", "PostToolUseFailure"):
            response = hook.get("tool_response")
            interrupted = hook.get("is_interrupt") or isinstance(response, dict) and response.get("interrupted")
            run.calls[call] = "interrupted" if interrupted else "success" if name == "PostToolUse" else "error"
        if name == "SubagentStop":
            run.status = "completed" if None not in run.calls.values() else "unknown"
        if name == "SessionEnd":
            session.status = "completed"
    return merged(runs.values())


def documents(text):
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


READERS = {"gemini-cli": gemini, "openhands": openhands, "swe-agent": swe_agent, "hook-log": hook_log}
LINE_READERS = {"claude-code": claude, "codex": codex, "amplifier": amplifier}

for path in sys.argv[2:]:
    with open(path, encoding="utf-8") as f:
        text = f.read()
    by_line = LINE_READERS.get(sys.argv[1])
    run = by_line(documents(text)) if by_line else READERS[sys.argv[1]](json.loads(text))
    print(json.dumps(run.report()))

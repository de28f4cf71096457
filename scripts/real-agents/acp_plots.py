"""What is done with each ACP agent, and what has to come of it."""

import os
from concurrent.futures import ThreadPoolExecutor

from acp import expect_said
from machine import Process, expect_gone, wait_for, words
from moves import Fail, Hold, Say, Shell, Silence, Write
from report import expect

# Each says who it is before it becomes what it is, so that nobody else is taken for it.
BACKGROUND = """
nohup sh -c 'echo $$ > {0}/nohup; exec sleep 3620' >/dev/null 2>&1 &
setsid -f sh -c 'echo $$ > {0}/setsid; exec sleep 3621' >/dev/null 2>&1
env -i setsid -f sh -c 'echo $$ > {0}/cleaned; exec sleep 3622' >/dev/null 2>&1
while ! [ -s {0}/nohup ] || ! [ -s {0}/setsid ] || ! [ -s {0}/cleaned ]; do sleep 0.05; done
echo begun
"""
LEFT = {"nohup": "3620", "setsid": "3621", "cleaned": "3622"}
# Long enough for an agent to start, short enough to wait for.
LIMIT = 20_000


def conversation(play):
    key = None
    with play.scenario("a text turn is answered, in the entries and in the turn"):
        key = play.spawn("What is the first word?", Say("The first word is heron."))
        expect_said(play, key, play.ended(key), "The first word is heron.")
        expect("the message", play.entries(key, "user") == [{"text": "What is the first word?"}], play.told(key))
        expect("the answer", play.entries(key, "agent") == [{"text": "The first word is heron."}], play.told(key))
    with play.scenario("the next turn is the same adapter's, and the model is shown what was said"):
        run, _ = play.adapter(key)
        play.goes_on(key, run)
        expect_remembered(play, "Are you there still?", "What is the first word?", "The first word is heron.")
    with play.scenario("what a turn has used is told in that turn"):
        turns = [entry["turnId"] for entry in play.ask("entries", key)["entries"] if entry["kind"] == "usage"]
        expect("two turns, or none", len(set(turns)) in (0, 2), play.told(key))
    if play.host.another_mode:
        with play.scenario("its mode is set"):
            session = play.ask("set-mode", key, agentMode=play.host.another_mode)["session"]
            expect("the mode", session["adapter"]["mode"] == play.host.another_mode, session["adapter"])
            expect("it is kept", play.status(key)["adapter"]["mode"] == play.host.another_mode, play.status(key))
    with play.scenario("closed, nothing of it is alive, and it takes no more messages"):
        run, _ = play.adapter(key)
        processes = [Process(one["pid"]) for one in play.tenure.tree(run)]
        play.tenure("sessions", "close", key)
        expect_gone(processes, 0)
        play.tenure.exits(1, "sessions", "send", key, "Are you there?")


def left_running(play, name):
    """A session whose agent has started three processes that left it, and is idle again; and these processes."""
    marks = os.path.join(play.work, name)
    os.mkdir(marks)
    message = f"Start what goes on: {name}."
    key = play.spawn(message, Shell(BACKGROUND.format(marks)), Say("They go on."))
    expect_said(play, key, play.ended(key), "They go on.")
    processes = {}
    for mark, length in LEFT.items():
        pid = number_in(os.path.join(marks, mark))
        if mark == "nohup" and play.host.ends_groups:
            wait_for("the agent ends what it started in its tool's group", 20, lambda: not words(pid))
            continue
        expect(f"what {mark} started is alive after the turn", words(pid) == ["sleep", length], words(pid))
        processes[mark] = Process(pid)
    return key, processes


def expect_alive(processes):
    for mark, process in processes.items():
        expect(f"what {mark} started is alive", not process.wait(0), process.pid)


def expect_closed(play, key, processes):
    play.tenure("sessions", "close", key)
    expect_gone(processes.values(), 0)
    expect("no live run", not play.status(key)["liveRuns"], play.status(key))


def by_hand(play):
    """The same from a shell."""
    agent = play.host.agent
    with play.scenario("tenure acp prompt prints the answer, and goes on with the session of the directory"):
        play.counsel.script["What is the fourth word?"] = [Say("The fourth word is dunlin.")]
        play.counsel.script["And the fifth word?"] = [Say("The fifth word is godwit.")]
        for message, answer in (("What is the fourth word?", "dunlin"), ("And the fifth word?", "godwit")):
            said = play.tenure("acp", "prompt", agent, message)
            expect("the answer alone", said.strip() == said.strip().splitlines()[0] and answer in said, said)
        expect_remembered(play, "And the fifth word?", "What is the fourth word?", "The fourth word is dunlin.")
        told = play.tenure("acp", "history", agent)
        expect("the history has both", "dunlin" in told and "godwit" in told, told)
    with play.scenario("tenure acp prompt exits with 123 if the turn is cancelled from elsewhere"):
        play.counsel.script["Are you awake now?"] = [Silence()]
        with ThreadPoolExecutor(1) as pool:
            prompt = pool.submit(play.tenure.exits, 123, "acp", "prompt", agent, "Are you awake now?")
            wait_for("the model is asked", 60, lambda: play.counsel.asked("Are you awake now?"))
            play.tenure("acp", "cancel", agent)
            prompt.result()
        play.tenure("acp", "close", agent)


def leaves_behind(play):
    with play.scenario("what its tool left running lives until the close, and not after it"):
        key, processes = left_running(play, "plainly")
        play.goes_on(key, play.adapter(key)[0])
        expect_alive(processes)
        expect_closed(play, key, processes)
    with play.scenario("the same with the daemon killed before the close"):
        key, processes = left_running(play, "bereft")
        run, _ = play.adapter(key)
        kill(play.tenure.daemon())
        expect_alive(processes)
        play.start()
        play.goes_on(key, run)
        expect_alive(processes)
        expect_closed(play, key, processes)
    with play.scenario("the same with the daemon and the keeper killed before the close"):
        key, processes = left_running(play, "orphaned")
        keeper, _ = play.keepers(key)
        kill(play.tenure.daemon(), keeper)
        play.start()
        expect_closed(play, key, processes)
    with play.scenario("the same with the daemon, the keeper and the nursery killed before the close"):
        key, processes = left_running(play, "forsaken")
        kill(play.tenure.daemon(), *play.keepers(key))
        play.start()
        expect_closed(play, key, processes)


def cancelled(play):
    with play.scenario("cancelled while it speaks; the same adapter goes on"):
        hold = Hold()
        text = "The sea is wide and deep."
        key = play.spawn("Tell me of the sea.", Say(text, hold))
        play.held(key, hold)
        if play.host.streams:
            wait_for("the first half is told", 20, lambda: play.entries(key, "agent"))
        expect_cancelled(play, key)
        hold.let_go.set()
    with play.scenario("cancelled while its tool runs; the same adapter goes on, and the close ends the tool"):
        mark = os.path.join(play.work, "tool")
        key = play.spawn("Wait for long.", Shell(f"echo $$ > {mark}; exec sleep 3630"), Say("It is over."))
        process = Process(wait_for("the tool runs", 60, lambda: number_in(mark)))
        expect_cancelled(play, key)
        expect_closed(play, key, {"tool": process})
    with play.scenario("cancelled while the model says nothing; the same adapter goes on"):
        key = play.spawn("Are you awake?", Silence())
        wait_for("the model is asked", 60, lambda: play.counsel.asked("Are you awake?"))
        expect_cancelled(play, key)


def expect_cancelled(play, key):
    run, _ = play.adapter(key)
    play.tenure("sessions", "cancel", key)
    turn = play.ended(key)
    expect("cancelled", (turn["state"], turn["stop"]) == ("cancelled", "cancelled"), turn)
    expect("the agent said so", turn["error"] is None, turn)
    play.goes_on(key, run)


def adapter_dies(play):
    key, own = None, None
    with play.scenario("killed in a turn: the turn says how it ended"):
        key = play.spawn("What is the second word?", Say("The second word is plover."))
        expect_said(play, key, play.ended(key), "The second word is plover.")
        own = play.status(key)["agentSessionId"]
        hold = Hold()
        play.send(key, "Tell me of the land.", Say("The land is dry and high.", hold))
        play.held(key, hold)
        run, root = play.adapter(key)
        processes = [Process(one["pid"]) for one in play.tenure.tree(run)]
        root.kill()
        turn = play.ended(key)
        hold.let_go.set()
        expect("crashed", (turn["state"], turn["stop"]) == ("failed", "crashed"), turn)
        expect("by which signal", "SIGKILL" in turn["error"], turn["error"])
        expect_gone(processes)
        expect("no adapter", play.status(key).get("adapter") is None, play.status(key))
    if not play.host.loads:
        return
    with play.scenario("the next turn loads the conversation in a new adapter"):
        play.send(key, "And what is the third word?", Say("The third word is curlew."))
        expect_said(play, key, play.ended(key), "The third word is curlew.")
        expect("the agent's own session", play.status(key)["agentSessionId"] == own, play.status(key))
        expect_remembered(play, "And what is the third word?", "What is the second word?", "The second word is plover.")
        users = [entry["text"] for entry in play.entries(key, "user")]
        expect("nothing is told twice", len(users) == len(set(users)) == 3, play.told(key))
        play.tenure("sessions", "close", key)


def daemon_dies(play):
    with play.scenario("the daemon killed while it speaks: the same turn ends with the whole text, once"):
        hold = Hold()
        text = "A long answer, of which the second half comes late."
        key = play.spawn("Tell me at length.", Say(text, hold))
        play.held(key, hold)
        if play.host.streams:
            wait_for("the first half is told", 20, lambda: play.entries(key, "agent"))
        run, _ = play.adapter(key)
        number = play.status(key)["activeTurn"]["turnId"]
        kill(play.tenure.daemon())
        play.start()
        hold.let_go.set()
        turn = play.ended(key)
        expect_said(play, key, turn, text)
        said = "".join(entry["text"] for entry in play.entries(key, "agent"))
        expect("the entries have it once", said == text, play.told(key))
        expect("the same turn and adapter", (turn["turnId"], turn["runId"]) == (number, run), turn)
        # Some have somebody else think about it afterwards.
        last = lambda one: [text for _, text in one.said[-3:]]
        asked = [one for one in play.counsel.asked("Tell me at length.") if any("at length" in text for text in last(one))]
        expect("the model was asked once", len(asked) == 1, len(asked))
        play.goes_on(key, run)
        play.tenure("sessions", "close", key)


def permitted(play):
    with play.scenario("it asks before it writes, and is allowed by the option's id"):
        key, path = asking(play, "ask")
        question = wait_for("somebody is asked", 60, lambda: asked_in(play, key))
        option = next(one["id"] for one in question["options"] if one["kind"] == "allow_once")
        expect("it waits", not os.path.exists(path) and play.status(key)["state"] == "busy", play.told(key))
        play.post(f"/v1/approvals/{question['id']}/choose", option=option)
        expect_said(play, key, play.ended(key), "I have tried.")
        expect_outcome(play, key, option, None)
        expect("it is written", os.path.exists(path), play.told(key))
        play.tenure("sessions", "close", key)
    with play.scenario("the daemon killed while it waits to be allowed: the next one hears the answer"):
        key, path = asking(play, "ask", "bereft")
        question = wait_for("somebody is asked", 60, lambda: asked_in(play, key))
        kill(play.tenure.daemon())
        play.start()
        again = wait_for("somebody is asked", 60, lambda: asked_in(play, key))
        expect("the same question", again == question, (question, again))
        play.tenure("approvals", "allow-once", question["id"])
        expect_said(play, key, play.ended(key), "I have tried.")
        expect("it is written", os.path.exists(path), play.told(key))
        play.tenure("sessions", "close", key)
    with play.scenario("cancelled while it waits to be allowed; the same adapter goes on, and nobody is asked any more"):
        key, path = asking(play, "ask", "cancelled")
        wait_for("somebody is asked", 60, lambda: asked_in(play, key))
        expect_cancelled(play, key)
        expect("nobody is asked", asked_in(play, key) is None, asked_in(play, key))
        expect_outcome(play, key, "cancelled", None)
        expect("it is not written", not os.path.exists(path), play.told(key))
        play.tenure("sessions", "close", key)
    with play.scenario("it is refused to write by approve-reads"):
        key, path = asking(play, "approve-reads")
        turn = play.ended(key)
        expect_outcome(play, key, None, "approve-reads")
        expect("it is not written", not os.path.exists(path), (turn, play.told(key)))
        play.tenure("sessions", "close", key)
    with play.scenario("it is allowed to write by approve-all"):
        key, path = asking(play, "approve-all")
        expect_said(play, key, play.ended(key), "I have tried.")
        expect_outcome(play, key, None, "approve-all")
        expect("it is written", os.path.exists(path), play.told(key))
        play.tenure("sessions", "close", key)


def asking(play, permissions, name=None):
    """A session whose agent is about to write a file, and wants to be allowed; and the file."""
    name = name or permissions
    path = os.path.join(play.work, "project", f"{name}.txt")
    key = play.spawn("Are you ready?", Say("I am."), permissions=permissions)
    expect_said(play, key, play.ended(key), "I am.")
    if play.host.asking_mode:
        play.ask("set-mode", key, agentMode=play.host.asking_mode)
    play.send(key, f"Write {name}.", Write(path, "written\n"), Say("I have tried."))
    return key, path


def asked_in(play, key):
    asked = [one for one in play.tenure.json("approvals", "list") if one["sessionKey"] == key]
    return next((one for one in asked if one["state"] == "pending"), None)


def expect_outcome(play, key, outcome, by):
    decided = play.entries(key, "permission")
    expect("a decision is told", decided and all("outcome" in one for one in decided), play.told(key))
    if outcome:
        expect(f"it is {outcome}", decided[-1]["outcome"] == outcome, decided)
    if by:
        expect(f"it is {by}'s", decided[-1]["by"] == by, decided)


def model_fails(play):
    with play.scenario("the model fails: the turn ends with an error or by its time limit"):
        key = play.spawn("Are you ready?", Say("I am."), timeoutMs=LIMIT)
        expect_said(play, key, play.ended(key), "I am.")
        play.send(key, "Is the model well?", Fail())
        turn = play.ended(key)
        expect("the model was asked", play.counsel.asked("Is the model well?"), turn)
        stops = {("failed", "error"), ("timed-out", "timed-out"), ("done", "end-turn")}
        expect("it has ended", (turn["state"], turn["stop"]) in stops, turn)
        expect("somebody is told", turn["error"] or turn["text"], turn)
        play.send(key, "Is it well again?", Say("It is well."))
        expect_said(play, key, play.ended(key), "It is well.")


def kill(*processes):
    for process in processes:
        process.kill()
    expect_gone(processes)


def number_in(path):
    try:
        with open(path, encoding="utf-8") as file:
            return int(file.read() or 0)
    except OSError:
        return 0


def expect_remembered(play, message, said, answered):
    """The model was shown an earlier message and its answer, before this one."""
    shown = play.counsel.asked(message)[0].said
    for who, text in (("user", said), ("agent", answered)):
        short = [(by, what[-80:]) for by, what in shown]
        expect(f"{text!r} is remembered", any(who == by and text in what for by, what in shown), short)


ACTS = [conversation, by_hand, leaves_behind, cancelled, adapter_dies, daemon_dies, permitted, model_fails]

----------------------------- MODULE async_bully -----------------------------
(* Bully on a network without time: the same model as async_bully.py, state  *)
(* for state. A turn takes place as a whole, and only if the messages that   *)
(* it sends have room on their channels; or else it is torn by a crash,      *)
(* which keeps any part of its messages but not all of them: a crash after   *)
(* the last one is a step of its own.                                        *)

EXTENDS Naturals, Sequences

CONSTANTS N,          \* how many nodes; the highest is the strongest
          K,          \* how many messages a channel holds
          Crashes,    \* how many crashes there may be
          Recoveries  \* how many recoveries

VARIABLES phase, leader,       \* of each node
          channel,             \* channel[i][j]: what is on its way from i to j
          crashes, recoveries  \* how many are left

Nodes == 1 .. N
Nobody == 0
Others(i) == Nodes \ {i}
Stronger(i) == i + 1 .. N

Init == /\ phase = [i \in Nodes |-> "idle"]
        /\ leader = [i \in Nodes |-> Nobody]
        /\ channel = [i \in Nodes |-> [j \in Others(i) |-> <<>>]]
        /\ crashes = Crashes
        /\ recoveries = Recoveries

Taken(j, i) == [channel EXCEPT ![j][i] = Tail(@)]

(* Node i says said[j] to every node j in `receivers`, on top of `channels`. *)
Sent(i, receivers, said, channels) ==
  /\ \A j \in receivers : Len(channels[i][j]) < K
  /\ channel' = [channels EXCEPT ![i] =
       [j \in Others(i) |-> IF j \in receivers THEN Append(@[j], said[j]) ELSE @[j]]]

Fall(i) == /\ crashes > 0
           /\ crashes' = crashes - 1
           /\ phase' = [phase EXCEPT ![i] = "down"]
           /\ leader' = [leader EXCEPT ![i] = Nobody]
           /\ UNCHANGED recoveries

(* The turn of node i that leaves it in this phase with this leader.         *)
Turn(i, channels, newPhase, newLeader, said) ==
  \/ /\ Sent(i, DOMAIN said, said, channels)
     /\ phase' = [phase EXCEPT ![i] = newPhase]
     /\ leader' = [leader EXCEPT ![i] = newLeader]
     /\ UNCHANGED <<crashes, recoveries>>
  \/ \E part \in SUBSET DOMAIN said \ {DOMAIN said} :
       Fall(i) /\ Sent(i, part, said, channels)

Silence == [j \in {} |-> ""]

Lead(i, channels) ==
  Turn(i, channels, "leading", i, [j \in Others(i) |-> "coordinator"])

(* Ask everybody stronger, and answer those who asked; the strongest leads.  *)
Ask(i, channels, asked) ==
  IF Stronger(i) = {} THEN Lead(i, channels) ELSE
    Turn(i, channels, "asking", leader[i],
         [j \in Stronger(i) \cup asked |-> IF j \in asked THEN "answer" ELSE "election"])

Alarm(i) == \/ phase[i] = "asking" /\ Lead(i, channel)
            \/ phase[i] \in {"idle", "waiting", "following"} /\ Ask(i, channel, {})

Receive(j, i) ==
  /\ phase[i] # "down"
  /\ channel[j][i] # <<>>
  /\ LET said == Head(channel[j][i])
         rest == Taken(j, i) IN
       CASE said = "election" /\ phase[i] = "leading" ->
              Turn(i, rest, "leading", leader[i], [k \in {j} |-> "coordinator"])
         [] said = "election" /\ phase[i] # "leading" -> Ask(i, rest, {j})
         [] said = "answer" ->
              Turn(i, rest, IF phase[i] = "asking" THEN "waiting" ELSE phase[i],
                   leader[i], Silence)
         [] said = "coordinator" /\ j > i -> Turn(i, rest, "following", j, Silence)
         [] said = "coordinator" /\ j < i -> Ask(i, rest, {})

Crash(i) == phase[i] # "down" /\ Fall(i) /\ UNCHANGED channel

Recover(i) == /\ phase[i] = "down"
              /\ recoveries > 0
              /\ recoveries' = recoveries - 1
              /\ phase' = [phase EXCEPT ![i] = "idle"]
              /\ UNCHANGED <<leader, channel, crashes>>

(* A message arrives where nobody is; it matters if there is a next life.    *)
Vanish(j, i) == /\ phase[i] = "down"
                /\ recoveries > 0
                /\ channel[j][i] # <<>>
                /\ channel' = Taken(j, i)
                /\ UNCHANGED <<phase, leader, crashes, recoveries>>

Next == \E i \in Nodes : \/ Alarm(i) \/ Crash(i) \/ Recover(i)
                         \/ \E j \in Others(i) : Receive(j, i) \/ Vanish(j, i)
=============================================================================

-------------------------------- MODULE ring --------------------------------
(* Chang and Roberts on a ring, the same model as ring.py, state for state.  *)
(* Node i sends to node i + 1, and the lower of two nodes is the stronger    *)
(* one, so every vote travels as far as a vote can. A node votes first and   *)
(* listens afterwards. What it says is one number: i is a vote for i, and    *)
(* N + i says that i has won.                                                *)

EXTENDS Naturals, Sequences

CONSTANT N

VARIABLES started,  \* started[i]: whether node i has voted
          leader,   \* leader[i]: whom node i takes for the leader, N for nobody
          channel   \* channel[i]: what is on its way to node i

Nodes == 0 .. N - 1
After(i) == (i + 1) % N

Init == /\ started = [i \in Nodes |-> FALSE]
        /\ leader = [i \in Nodes |-> N]
        /\ channel = [i \in Nodes |-> <<>>]

Start(i) == /\ ~started[i]
            /\ started' = [started EXCEPT ![i] = TRUE]
            /\ channel' = [channel EXCEPT ![After(i)] = Append(@, i)]
            /\ UNCHANGED leader

PassOn(i, said) == channel' = [channel EXCEPT ![i] = Tail(@), ![After(i)] = Append(@, said)]

Listen(i) ==
  /\ started[i]
  /\ channel[i] # <<>>
  /\ LET said == Head(channel[i]) IN
       CASE said = i -> PassOn(i, N + i) /\ leader' = [leader EXCEPT ![i] = i]
         [] said < i -> PassOn(i, said) /\ UNCHANGED leader
         [] said >= N /\ said # N + i ->
              PassOn(i, said) /\ leader' = [leader EXCEPT ![i] = said - N]
         [] OTHER -> channel' = [channel EXCEPT ![i] = Tail(@)] /\ UNCHANGED leader
  /\ UNCHANGED started

Next == \E i \in Nodes : Start(i) \/ Listen(i)
=============================================================================

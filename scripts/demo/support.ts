/** A support case: a shop's coffee machines, a double charge, a recall, and two answers to the same question. */
import { tell } from "./tell.ts";

const SERIALS = ["MB2-40917", "MB2-40918", "MB2-40921", "MB2-40933", "MB2-41002", "MB2-41003", "MB2-41077", "MB2-41120"];

export const support = tell("support-87120", "shop-harbour-street", [
  {
    by: "user",
    says: "Hello, this is Noor Aziz from the cafe group Harbour Street, customer C-55208. We were charged twice for order HS-2026-0318, and two of our Marabou 2 machines drip from the group head since Monday. The charges are more urgent: 3,184.50 EUR left our account on 2 March and again on 3 March, and our rent is due on the 10th.",
  },
  {
    calls: "find_payments",
    with: { customer: "C-55208", order: "HS-2026-0318", since: "2026-02-20" },
    gets: Array.from({ length: 26 }, (_, index) => ({
      payment: `PAY-${771_040 + index * 13}`,
      order: index === 24 || index === 25 ? "HS-2026-0318" : `HS-2026-0${280 + index}`,
      at: `2026-03-0${1 + Math.floor(index / 12)}T${String(8 + (index % 12)).padStart(2, "0")}:14:00Z`,
      amount: { amount: index >= 24 ? "3184.50" : (48.2 + index * 7.35).toFixed(2), currency: "EUR" },
      method: "direct debit",
      mandate: "MND-0091-HS",
      status: index === 25 ? "settled, no matching invoice" : "settled",
    })),
    concludes:
      "You are right: PAY-771352 and PAY-771365 both took 3,184.50 EUR for HS-2026-0318 under mandate MND-0091-HS, and the second has no invoice of its own. The first belongs to invoice INV-26-1187. I am sorry. The second one has to go back to you in full.",
  },
  {
    by: "user",
    says: "Thank you. Please not as a credit note: our accountant, Tobias Lindqvist, wants the money on the account it came from, with a reference that he can match. How long will it take, and who told the bank to collect twice? If it can happen to an order, it can happen to the monthly contract too, and that one is 1,260.00 EUR.",
  },
  {
    calls: "refund_payment",
    with: { payment: "PAY-771365", reason: "duplicate", reference: "REF HS-2026-0318 DUP", to: "origin" },
    gets: {
      refund: "RFD-20418",
      payment: "PAY-771365",
      amount: { amount: "3184.50", currency: "EUR" },
      account: "NL** **** **** 4471 09",
      reference: "REF HS-2026-0318 DUP",
      expected: { from: "2026-03-06", to: "2026-03-09" },
      approved_by: "duty manager, rule R-7 (duplicates under 5,000 EUR)",
    },
    concludes:
      "Refund RFD-20418 over 3,184.50 EUR is on its way to the account ending in 4471 09, with the reference REF HS-2026-0318 DUP for Mr Lindqvist. It arrives between 6 and 9 March, so before your rent on the 10th.",
  },
  {
    calls: "read_incident",
    with: { topic: "direct debit collected twice", from: "2026-03-01" },
    gets: {
      incident: "PRB-618",
      summary:
        "A file of collections was sent again after the bank's confirmation timed out; orders without a contract number were taken as new.",
      affected_orders: 41,
      contracts_affected: 0,
      fixed_at: "2026-03-03T16:40:00Z",
      owner: "payments team",
    },
    concludes:
      "Nobody ordered it twice: after a time-out a whole file of collections was sent again (problem PRB-618, 41 orders, fixed on 3 March at 16:40 UTC). Collections with a contract number are recognised, so the monthly 1,260.00 EUR of your contract was not and could not be taken twice.",
  },
  {
    by: "user",
    says: "Good to know, and please send me that in writing. Now the machines. We have eight Marabou 2 in four cafes. The two that drip are in the cafe at the ferry: serial numbers MB2-40917 and MB2-40933. My barista tightened the group head with a spanner, which I would not have done. They still make coffee, but there is a puddle every morning, and the floor below is oak.",
  },
  {
    calls: "look_up_machines",
    with: { customer: "C-55208", model: "Marabou 2" },
    gets: SERIALS.map((serial, index) => ({
      serial,
      cafe: ["Ferry", "Old Mint", "Library", "Ferry", "Station", "Station", "Old Mint", "Library"][index],
      bought: `2024-0${3 + (index % 6)}-1${index}`,
      warranty_until: `2026-0${3 + (index % 6)}-1${index}`,
      firmware: index % 2 === 0 ? "4.2.1" : "4.1.8",
      gasket: index < 4 ? "GK-58A, batch 2411" : "GK-58B, batch 2503",
      last_service: `2025-1${index % 2}-0${1 + (index % 8)}`,
      brews: 61_400 + index * 3_115,
      pressure_bar: (9.1 - index * 0.1).toFixed(1),
    })),
    concludes:
      "MB2-40917, MB2-40918, MB2-40921 and MB2-40933 have the gasket GK-58A of batch 2411; the other four have GK-58B. Batch 2411 is the one of recall SR-26-04: it hardens at about 60,000 brews. So the two that drip do so because of the gasket, and two more will.",
  },
  {
    by: "user",
    says: "A recall, and nobody wrote to us? When does the warranty of those four end? And what does it mean that my barista used a spanner: will you now say that it is our fault?",
  },
  {
    calls: "read_policy",
    with: { document: "SR-26-04", sections: ["scope", "remedy", "exclusions", "notice"] },
    gets: {
      document: "SR-26-04, version 3 of 2026-02-24",
      scope: "Marabou 2 with gasket GK-58A of batches 2409 to 2412, whatever their warranty says.",
      remedy:
        "Gasket GK-58C and a new screen, fitted by a technician, without charge; a machine on loan when the repair takes more than 48 hours.",
      exclusions: "Cracked group heads that were struck. Tightening, even with a tool, excludes nothing.",
      notice: "Letters went out on 2026-02-26 to the address of delivery, and e-mails to the contact for technical matters.",
      damages:
        "Damage to floors and furniture is settled with photographs and an invoice, up to 2,500.00 EUR, by claims@marabou.example.",
    },
    concludes:
      "It is not your fault: SR-26-04 says that tightening excludes nothing, and it applies whatever the warranty says. The letter went to the address of delivery and the e-mail to your contact for technical matters. The remedy is gasket GK-58C and a new screen, fitted free of charge, and a machine on loan if it takes more than 48 hours. For the oak floor there are up to 2,500.00 EUR, with photographs and an invoice to claims@marabou.example.",
  },
  {
    by: "user",
    says: "The contact for technical matters left us in January, that explains it. Make it me: noor.aziz@harbour-street.example, +31 20 555 0186. I want all four done in one visit if that is possible, in the morning before we open at 07:30, and never on a Saturday, which is market day. The ferry cafe has no parking; the technician must come in from Kade 12 and ring twice.",
  },
  {
    calls: "find_visits",
    with: { region: "Amsterdam-Noord", parts: ["GK-58C", "SCR-58"], machines: 4, before: "07:30", not_on: ["saturday"] },
    gets: Array.from({ length: 14 }, (_, index) => ({
      slot: `VS-${9_310 + index * 4}`,
      day: `2026-03-${String(6 + index).padStart(2, "0")}`,
      from: index % 3 === 2 ? "05:30" : "06:00",
      minutes: 35 * (2 + (index % 3)),
      technician: ["Joris Bakker", "Amal Haddad", "Pieter Vos"][index % 3],
      parts_in_van: index % 4 === 3 ? ["GK-58C x2", "SCR-58 x2"] : ["GK-58C x4", "SCR-58 x4"],
      km: 4 + index,
    })),
    concludes:
      "Four machines take 140 minutes. The first morning with all the parts and enough time is VS-9318 on Sunday, 8 March, from 05:30 with Pieter Vos; the next on a weekday is VS-9330 on Wednesday, 11 March, also from 05:30, with Pieter Vos. All four would have to stand in one place, or he drives between the Ferry, Old Mint and Library and needs 40 minutes more.",
  },
  {
    by: "user",
    id: "visit",
    says: "They can't stand in one place. So 180 minutes from 05:30 is 08:30, an hour too late. What do you suggest?",
  },
  {
    by: "assistant",
    says: "Two visits: on Wednesday, 11 March, from 05:30 the two at the Ferry that drip (MB2-40917 and MB2-40933, 70 minutes, done by 06:40), and the two that do not yet drip (MB2-40918 at Old Mint, MB2-40921 at the Library) on Tuesday, 17 March, from 05:30, 110 minutes with the drive, done by 07:20. Both with Pieter Vos, both free of charge. Until the 11th put the tray DT-2 under the group heads and switch the two machines off over night: without pressure they do not drip.",
  },
  {
    by: "user",
    says: "Two visits, agreed. Book both, with the directions for Kade 12. And we will switch them off at night from today.",
  },
  {
    calls: "book_visits",
    with: {
      visits: [
        {
          day: "2026-03-11",
          from: "05:30",
          serials: ["MB2-40917", "MB2-40933"],
          directions: "Kade 12, ring twice; no parking at the cafe",
        },
        { day: "2026-03-17", from: "05:30", serials: ["MB2-40918", "MB2-40921"], directions: "Old Mint first, then the Library" },
      ],
      technician: "Pieter Vos",
      contact: "+31 20 555 0186",
      recall: "SR-26-04",
    },
    gets: {
      visits: [
        { visit: "VIS-30077", day: "2026-03-11", window: "05:30-06:40", charge: "0.00" },
        { visit: "VIS-30078", day: "2026-03-17", window: "05:30-07:20", charge: "0.00" },
      ],
      contact_changed: { technical: "noor.aziz@harbour-street.example", previous: "d.smit@harbour-street.example" },
      confirmations: ["noor.aziz@harbour-street.example"],
    },
    concludes:
      "Booked: VIS-30077 on 11 March, 05:30 to 06:40, and VIS-30078 on 17 March, 05:30 to 07:20, both at 0.00 EUR under SR-26-04. You are the contact for technical matters now. The explanation of PRB-618 is in the same e-mail, in writing, as you asked.",
  },
  {
    by: "user",
    says: "Perfect. So that I have it in one place: what is done, what is open, and what do I have to do myself?",
  },
  {
    by: "assistant",
    says: "Done: refund RFD-20418 over 3,184.50 EUR, there between 6 and 9 March; visits VIS-30077 and VIS-30078; your name as the technical contact. Open: the repair of the four machines, and the oak floor. For you to do: photographs and the invoice for the floor to claims@marabou.example, the two machines at the Ferry off over night until 11 March, and somebody at Kade 12 at 05:30 on that day.",
  },
  {
    by: "assistant",
    below: "visit",
    says: "One visit is possible if the cafe at the Library opens at 09:00 on that day: on Wednesday, 11 March, Pieter Vos starts at the Ferry at 05:30, is at Old Mint at 06:50 and at the Library from 07:35 to 08:30. Old Mint and the Ferry would be ready before 07:30; only the Library would open later, once.",
  },
]);

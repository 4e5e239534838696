/** A journey to be booked: flights, trains, a hotel, and a branch before the payment. */
import { tell } from "./tell.ts";

export const journey = tell("journey-lisbon", "traveller-77", [
  {
    by: "user",
    says: "I need to get from Brno to Lisbon for a conference on 11 May 2026, back on 15 May. Budget 600 euros for flights, no flights before 7 in the morning, and I travel with one bag of 20 kg.",
  },
  {
    calls: "search_flights",
    with: { from: ["BRQ", "VIE", "PRG"], to: "LIS", out: "2026-05-10", back: "2026-05-15", passengers: 1, bag_kg: 20 },
    gets: Array.from({ length: 36 }, (_, index) => ({
      offer: `OF-${7_120 + index * 3}`,
      from: ["VIE", "PRG", "BRQ"][index % 3],
      out: `2026-05-10T${String(6 + (index % 12)).padStart(2, "0")}:${index % 2 === 0 ? "15" : "50"}`,
      back: `2026-05-15T${String(9 + (index % 10)).padStart(2, "0")}:05`,
      carrier: ["TP", "OS", "LH", "FR"][index % 4],
      stops: index % 3,
      price: { amount: (318.4 + index * 27.15).toFixed(2), currency: "EUR" },
      bag_included: index % 4 !== 3,
    })),
    concludes:
      "There are 36 offers within reach. From Vienna the best that leaves after 7 with the bag included is OF-7138 with TAP for 480.30 EUR, one stop or none; from Prague OF-7129 with Lufthansa for 399.85 EUR leaves at 09:50.",
  },
  { by: "user", says: "Vienna is easier by train. Is OF-7138 direct? And which train reaches it without running?" },
  {
    calls: "search_trains",
    with: { from: "Brno hl.n.", to: "Wien Flughafen", date: "2026-05-10", before: "2026-05-10T10:00" },
    gets: Array.from({ length: 9 }, (_, index) => ({
      train: `RJ ${70 + index}`,
      departs: `2026-05-10T0${4 + Math.floor(index / 2)}:${index % 2 === 0 ? "22" : "52"}`,
      arrives: `2026-05-10T0${6 + Math.floor(index / 2)}:${index % 2 === 0 ? "31" : "59"}`,
      changes: index % 2,
      platform: `${2 + (index % 5)}A`,
      price: { amount: `${19 + index}.00`, currency: "EUR" },
    })),
    concludes:
      "OF-7138 is direct: TP1273, departs VIE 12:50, arrives LIS 15:25. Train RJ 76 leaves Brno at 07:22 and is at the airport at 09:31 without a change, for 25.00 EUR: more than three hours before the flight.",
  },
  {
    by: "user",
    says: "Take both. Passport name is Zdenka Maria Horakova, born 1988-07-02, frequent flyer TP 445-901-22. Ask before paying.",
  },
  {
    calls: "hold_booking",
    with: {
      offers: ["OF-7138"],
      trains: ["RJ 76"],
      passenger: { name: "Zdenka Maria Horakova", born: "1988-07-02", frequent_flyer: "TP 445-901-22" },
    },
    gets: {
      booking: "LX4K9T",
      holds_until: "2026-02-03T18:00:00Z",
      items: [
        { kind: "flight", number: "TP1273", seat: null },
        { kind: "flight", number: "TP1274", seat: null },
        { kind: "train", number: "RJ 76", coach: 24, seat: 61 },
      ],
      total: { amount: "505.30", currency: "EUR" },
      fare_rules:
        "Changes 70.00 EUR until 24 hours before departure; no refund; bag of 23 kg included; name changes are not possible.",
    },
    concludes:
      "Booking LX4K9T is held until 3 February 2026, 18:00 UTC: TP1273 out, TP1274 back, and seat 61 in coach 24 of RJ 76. The total is 505.30 EUR. A change costs 70.00 EUR until a day before; there is no refund. Shall I pay?",
  },
  { by: "user", id: "pay", says: "Yes, with the card ending in 4417. An aisle seat if there is one without a fee." },
  {
    calls: "pay_booking",
    with: { booking: "LX4K9T", card: "4417", seat: "aisle" },
    gets: {
      booking: "LX4K9T",
      status: "ticketed",
      tickets: ["047-2291187304", "047-2291187305"],
      seats: { TP1273: "14C", TP1274: "11D" },
      charged: { amount: "505.30", currency: "EUR" },
      receipt: "https://booking.example/receipts/LX4K9T",
    },
    concludes:
      "Paid and ticketed: 047-2291187304 and 047-2291187305. Aisle seats 14C out and 11D back, without a fee. The receipt is at https://booking.example/receipts/LX4K9T.",
  },
  {
    by: "user",
    says: "Now a hotel: walking distance to the Pavilhao Carlos Lopes, quiet, at most 140 euros a night, 10 to 15 May.",
  },
  {
    calls: "search_hotels",
    with: { near: "Pavilhao Carlos Lopes, Lisbon", from: "2026-05-10", to: "2026-05-15", max_per_night: 140 },
    gets: Array.from({ length: 30 }, (_, index) => ({
      hotel: `H-${310 + index}`,
      name: ["Casa do Parque", "Avenida Dois", "Residencia Graca", "Patio 41", "Hotel Eduardo", "Mirante", "Largo Azul"][
        index % 7
      ],
      walk_minutes: 4 + index * 2,
      night: { amount: `${92 + index * 3}.00`, currency: "EUR" },
      rating: (9.3 - index * 0.1).toFixed(1),
      noise: index % 3 === 0 ? "courtyard rooms" : "street side",
      cancel_until: "2026-05-08T22:00:00Z",
    })),
    concludes:
      "Casa do Parque (H-310) is 4 minutes away, 92.00 EUR a night with rooms to the courtyard, rated 9.3. Patio 41 (H-313) is 10 minutes away for 101.00 EUR. Both can be cancelled until 8 May, 22:00 UTC.",
  },
  { by: "user", says: "Casa do Parque, courtyard room, breakfast if it is under 15 euros. My arrival is late afternoon." },
  {
    calls: "book_hotel",
    with: { hotel: "H-310", room: "courtyard", breakfast_max: 15, arrival: "2026-05-10T17:00" },
    gets: {
      confirmation: "CDP-20931",
      nights: 5,
      room: "courtyard double, 3rd floor",
      breakfast: { amount: "12.00", currency: "EUR" },
      total: { amount: "520.00", currency: "EUR" },
      pay: "at the hotel",
      phone: "+351 21 555 0147",
    },
    concludes:
      "Booked: CDP-20931, five nights in a courtyard double on the third floor, breakfast for 12.00 EUR a day, 520.00 EUR to be paid at the hotel. Its phone is +351 21 555 0147.",
  },
  { by: "user", says: "What is left of my plan, and could you put the conference's registration deadline next to it?" },
  {
    by: "assistant",
    says: "Booked: flights LX4K9T (505.30 EUR) and hotel CDP-20931 (520.00 EUR). Open: the train back from Vienna on 15 May, and your registration, whose deadline is 2026-04-01 according to the conference's page. You are 94.70 EUR under your budget for flights.",
  },
  { by: "user", below: "pay", says: "Wait, hold on with paying. Can the return be on 16 May instead for the same price?" },
  {
    by: "assistant",
    says: "On 16 May TP1274 costs 61.00 EUR more, 566.30 EUR in all, still within your 600. The hold on LX4K9T stays as it is until you decide.",
  },
]);

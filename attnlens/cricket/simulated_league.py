"""The league that `attnlens.cricket.simulate` plays in: no one and nowhere in it is real."""

from __future__ import annotations

from typing import Final

COMPETITION: Final = "Lantern Coast Twenty20"

TEAMS: Final[dict[str, tuple[str, ...]]] = {
    "Saltmarsh Herons": (
        "Tavi Okonjara",
        "Bram Ellerquist",
        "Ishaan Velladurai",
        "Noor Kestrelli",
        "Dashiel Orrowby",
        "Kwabena Tutuola-Reyes",
        "Rafiq Suvarenko",
        "Ewan Thistlemoor",
        "Junichi Harrowgate",
        "Lucan Mbekwane",
        "Zubin Farrokhpur",
    ),
    "Copperfield Comets": (
        "Anselm Duvivier-Oke",
        "Pranit Gollapatti",
        "Callum Wetherspring",
        "Hamzah Qureshandi",
        "Teodor Brannoch",
        "Sefa Laumatua",
        "Idris Vandermolen",
        "Mateus Quillfeather",
        "Arjan Thindalia",
        "Owethu Ndlamini",
        "Piotr Skarbinsky",
    ),
    "Highgate Lynx": (
        "Marlon Eastergate",
        "Devraj Kolhapuria",
        "Finnbar O'Tarrigan",
        "Yusuf Almazari",
        "Chidi Nwankwere",
        "Rohan Pelmadulla",
        "Aurelio Castavento",
        "Tane Rangihaka",
        "Bashir Zadranpour",
        "Gethin Morlais",
        "Kaito Minazuki",
    ),
    "Riverbend Otters": (
        "Javed Rahimzada",
        "Quentin Ashdowne",
        "Lahiru Wattegodage",
        "Emeka Obiandu",
        "Sølve Nordhaugen",
        "Vikrant Ahirwalia",
        "Desmond Carrowick",
        "Imran Baltistani",
        "Tomasi Vunivaluka",
        "Ruben Steynsburg",
        "Haruki Tanemori",
    ),
    "Stonebridge Kites": (
        "Aldous Penhallow",
        "Kasun Dematagodage",
        "Farid Noorestan",
        "Leroy Bellefontaine",
        "Siddharth Moolyani",
        "Jonty Marchbanks",
        "Oluwaseun Adebowora",
        "Nikolai Petrashko",
        "Tariq Haidarzai",
        "Conall MacAvenny",
        "Wiremu Taikato",
    ),
    "Port Amber Mariners": (
        "Elias Fontanarosa",
        "Manav Chettinadan",
        "Rhys Llanfarian",
        "Kofi Agyekumhene",
        "Shahriar Mollakhel",
        "Dilan Uyangodara",
        "Gareth Wolverstone",
        "Obafemi Oyelaran-Pike",
        "Zeeshan Mirwaldi",
        "Anton Brezhnikov",
        "Pita Falekaono",
    ),
}
"""Elevens in batting order; the last six of each bowl, and the fourth keeps wicket."""

VENUES: Final[tuple[tuple[str, str], ...]] = (
    ("Lighthouse Oval", "Saltmarsh"),
    ("The Foundry Ground", "Copperfield"),
    ("Harbour Park, North End", "Port Amber"),
    ("Old Mill Meadow", "Riverbend"),
)
"""Grounds and their towns."""
